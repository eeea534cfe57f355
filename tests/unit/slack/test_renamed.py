"""A channel that got another id: what was written in it keeps its name here, and calls go to the id of today."""

from __future__ import annotations

import pytest

from channels.contract import Answer, Ignored, Inbound
from channels.slack.parse import parse
from channels.slack.parsing.identity import Renamed
from channels.slack.policy import rules
from gateway.engine.kinds import Json
from gateway.engine.struct import replace
from tests.unit.slack.payloads import ME, altered, event, opened, sample

TWICE = replace(
    ME, renamed=(Renamed("G1", "C1", "1699999000.5"), Renamed("C1", "C9", "1700000400.0"))
)


@pytest.mark.parametrize(
    ("ts", "then"),
    [
        ("1699999000.4", "G1"),
        ("1699999000.500000", "C1"),
        ("1700000399.9", "C1"),
        ("1700000400.0", "C9"),
    ],
)
def test_a_message_keeps_the_id_that_its_channel_had(ts: str, then: str) -> None:
    assert TWICE.then("C9", ts) == then


def test_an_id_that_came_back_is_told_apart_by_when() -> None:
    there = replace(ME, renamed=(Renamed("C1", "C9", "10.0"), Renamed("C9", "C1", "20.0")))
    assert [there.then("C1", ts) for ts in ("9.0", "19.0", "20.0")] == ["C1", "C9", "C1"]


def test_other_channels_have_one_name() -> None:
    assert (TWICE.then("C2", "1.0"), TWICE.names("C2")) == ("C2", ("C2",))


def test_a_reply_under_the_new_id_stands_in_the_thread_of_the_old_one() -> None:
    told = altered("event.message_reply", channel="C9", ts="1700000460.000001")
    before, after = event(altered("event.message_reply")), event(told, TWICE)
    assert isinstance(before, Inbound)
    assert isinstance(after, Inbound)
    assert after.place == before.place
    assert after.target["lane"] == before.target["lane"]
    assert after.post == "slack:T1:C9:1700000460.000001"
    assert after.target["channel"] == "C9"


def test_a_press_under_the_new_id_is_on_the_card_of_the_old_one() -> None:
    before = parse(opened("interactive", sample("interactive.approve")), ME, rules())
    payload = sample("interactive.approve")
    box = payload["container"]
    assert isinstance(box, dict)
    box["channel_id"] = "C9"
    after = parse(opened("interactive", payload), TWICE, rules())
    assert isinstance(before, Answer)
    assert isinstance(after, Answer)
    assert after.shown == before.shown
    assert after.reply["channel"] == "C9"


@pytest.mark.parametrize("name", ["C1", "C9"])
def test_options_hold_under_either_id(name: str) -> None:
    told = altered("event.message_reply", channel="C9")
    found = event(told, TWICE, rules(follow={name: "mention", "*": "thread"}))
    assert isinstance(found, Inbound)
    assert found.follow == "mention"


@pytest.mark.parametrize(
    "fields",
    [
        {"new_channel_id": "G1"},
        {"new_channel_id": "C:9"},
        {"old_channel_id": None},
        {"event_ts": "soon"},
    ],
)
def test_news_that_names_no_other_id_or_no_moment_changes_nothing(fields: dict[str, Json]) -> None:
    found = event(altered("event.channel_id_changed", **fields))
    assert isinstance(found, Ignored)
    assert (found.verdict, found.rule) == ("unsupported", "no-channel")
