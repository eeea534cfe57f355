"""Stop, the agent's home, and news of the installation."""

from __future__ import annotations

import pytest

from channels.slack import policy
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.struct import replace
from tests.unit.slack.payloads import (
    ME,
    ORG,
    altered,
    control,
    event,
    ignored,
    inbound,
    sample,
    told,
)


def test_stop_names_the_thread_and_who_pressed_it() -> None:
    found = control(told("event.agent_session_stopped"))
    assert found.kind == "stop"
    assert found.place is not None
    assert found.place == inbound(told("event.message_mention")).place
    assert found.by is not None
    assert found.by.id == "slack:T1:U1"
    assert found.reply["streams"] == ["1700000002.000100"]


@pytest.mark.parametrize("field", ["channel", "user", "thread_ts"])
def test_a_stop_without_a_thread_or_a_person_is_unsupported(field: str) -> None:
    payload = altered("event.agent_session_stopped", field)
    assert ignored(event(payload)).rule == "no-thread"


def test_in_a_shared_channel_nobody_is_one_of_us_unsaid() -> None:
    payload: JsonObject = {**sample("event.agent_session_stopped"), "is_ext_shared_channel": True}
    found = control(event(payload))
    assert found.by is not None
    assert (found.by.id, found.by.level) == ("slack:unknown:U1", "none")


def test_a_first_look_at_the_home_is_claimed_once_for_each_person() -> None:
    found = control(told("event.app_home_opened"))
    assert found.kind == "home"
    assert found.keys == (f"slack:event:{found.event_id}", "slack:home:T1:U1")
    assert (found.reply["channel"], found.reply["user"]) == ("D1", "U1")


def test_without_the_agent_view_there_is_nothing_to_show_at_home() -> None:
    found = ignored(told("event.app_home_opened", ME, policy.rules(agent_view=False)))
    assert found.rule == "home-tab"


@pytest.mark.parametrize("tab", ["home", None, "", 7])
def test_other_tabs_show_nothing(tab: Json) -> None:
    assert ignored(event(altered("event.app_home_opened", tab=tab))).rule == "home-tab"


@pytest.mark.parametrize("field", ["channel", "user"])
def test_a_home_without_a_person_is_unsupported(field: str) -> None:
    assert ignored(event(altered("event.app_home_opened", field))).rule == "no-author"


def test_our_revoked_token_ends_the_installation_a_persons_doesnt() -> None:
    found = control(told("event.tokens_revoked"))
    assert (found.kind, found.reply["installation"]) == ("revoked", "T1")
    assert ignored(told("event.tokens_revoked_user")).rule == "user-tokens"
    none: list[Json] = [None, {}, {"bot": []}, {"bot": None}, []]
    for tokens in none:
        payload = altered("event.tokens_revoked", tokens=tokens)
        assert ignored(event(payload)).rule == "user-tokens"


def test_an_uninstalled_app_is_gone_from_its_workspace_or_organisation() -> None:
    assert control(told("event.app_uninstalled")).reply["installation"] == "T1"
    assert control(told("event.app_uninstalled_org", ORG)).reply["installation"] == "E1"


def test_the_last_news_arrives_after_the_installation_was_marked() -> None:
    off = replace(ME, active=False)
    assert control(told("event.tokens_revoked", off)).kind == "revoked"


def test_a_rate_limit_is_noted_whoever_is_installed() -> None:
    for me in (None, ME):
        found = ignored(told("event.app_rate_limited", me))
        assert (found.rule, found.event_id) == ("app-rate-limited", "rate:T1:1700000040")


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("reaction_added", "not_addressed"),
        ("channel_rename", "not_addressed"),
        ("something_new", "not_addressed"),
        ("link_shared", "unsupported"),
        ("function_executed", "unsupported"),
        ("assistant_thread_started", "unsupported"),
        ("", "not_addressed"),
        ("<script>", "not_addressed"),
        (7, "not_addressed"),
    ],
)
def test_every_other_event_has_its_word(kind: Json, word: str) -> None:
    found = ignored(event(altered("event.reaction_added", type=kind)))
    assert (found.verdict, found.rule) == (word, "event-type")
    assert "script" not in found.reason
