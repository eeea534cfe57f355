"""Mentions that the gateway wants, from identities that somebody vouches for."""

from __future__ import annotations

import pytest

from channels.slack.words.guard import guarded
from channels.slack.words.mentions import (
    Mention,
    addressed,
    element,
    of_identity,
    of_setting,
    token,
)
from tests.unit.slack.words.oracle import MENTION, live

ADA, LEADS = Mention("user", "U1"), Mention("group", "S1")


def test_an_attested_identity_can_be_mentioned() -> None:
    assert of_identity("slack:T1:U1") == ADA
    assert of_identity("slack:E1:W1") == Mention("user", "W1")


@pytest.mark.parametrize(
    "identity",
    [
        *("email:ada@acme.example", "slack:T1:channel", "slack:T1:U1>", "slack:T1:!here"),
        *("slack:T1:u1", "slack:T1:", "U1", "slack:T1:U1\n", "slack:U1", "xslack:T1:U1"),
    ],
)
def test_anything_else_can_not(identity: str) -> None:
    assert of_identity(identity) is None


def test_an_operator_may_name_a_person_or_a_group_but_no_channel() -> None:
    assert of_setting(" U1 ") == of_setting("@U1") == of_setting("<@U1|ada>") == ADA
    assert of_setting("S1") == of_setting("<!subteam^S1|@leads>") == LEADS
    for wrong in ("<!channel>", "here", "@here", "C1", "@support-leads", "U1 S1", "<@U1", ""):
        assert of_setting(wrong) is None


def test_the_mention_is_added_behind_the_guard_and_is_the_only_one() -> None:
    said = addressed(guarded("please look, <@U2> and <!here>"), [ADA, LEADS, ADA])
    assert said.startswith("<@U1> <!subteam^S1> please look, ")
    assert MENTION.findall(said) == ["<@", "<!"]
    assert not live(said.removeprefix("<@U1> <!subteam^S1>"))
    assert addressed("text", []) == "text"


def test_rich_text_has_elements_for_them() -> None:
    assert element(ADA) == {"type": "user", "user_id": "U1"}
    assert element(LEADS) == {"type": "usergroup", "usergroup_id": "S1"}
    assert token(LEADS) == "<!subteam^S1>"
