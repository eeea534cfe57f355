"""An edit is what a person did to the words of a post that was said to us; nothing else is one."""

from __future__ import annotations

import pytest

from channels.slack import policy
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.struct import replace
from tests.unit.slack.payloads import ME, altered, control, event, ignored, sample, told

POST = "slack:T1:C1:1700000000.000100"


def changed(now: JsonObject, before: JsonObject | None = None, drop: str = "") -> JsonObject:
    """The sample of an edit, with its two versions altered."""
    inner = sample("event.message_changed")["event"]
    assert isinstance(inner, dict)
    new, old = inner["message"], inner["previous_message"]
    assert isinstance(new, dict)
    assert isinstance(old, dict)
    new.update(now)
    old.update(before or {})
    new.pop(drop, None)
    return altered("event.message_changed", message=new, previous_message=old)


def test_an_edit_brings_the_message_as_it_reads_now() -> None:
    found = control(told("event.message_changed"))
    assert (found.kind, found.post, found.at) == ("edit", POST, "1700000120.000000")
    assert found.by is not None
    assert found.by.id == "slack:T1:U1"
    assert found.inbound is not None
    assert found.inbound.text == "where is order 1044?"
    assert found.inbound.turn_id == f"{POST}:e1700000120.000000"
    assert found.inbound.post == POST
    assert found.inbound.place == found.place


def test_the_edit_and_the_message_it_makes_claim_different_keys() -> None:
    """Else the noted edit would keep its own message from opening a turn."""
    found = control(told("event.message_changed"))
    assert found.inbound is not None
    assert not set(found.keys) & set(found.inbound.keys)
    assert found.keys == (
        f"slack:event:{found.event_id}",
        "slack:edit:T1:C1:1700000000.000100:1700000120.000000",
    )
    assert not any(key.startswith("slack:cmid:") for key in found.inbound.keys)


@pytest.mark.parametrize(
    ("now", "drop"),
    [
        ({"text": "<@UJUNE> where is order 1042?"}, ""),
        ({}, "edited"),
        ({"edited": {"user": "U1"}}, ""),
        ({"edited": None}, ""),
    ],
)
def test_a_change_without_other_words_or_an_editor_is_none(now: JsonObject, drop: str) -> None:
    found = ignored(event(changed(now, drop=drop)))
    assert (found.verdict, found.rule) == ("not_addressed", "no-text-change")


def test_an_unfurl_after_an_edit_is_no_second_edit() -> None:
    both: JsonObject = {
        "text": "<@UJUNE> see <https://acme.example>",
        "edited": {"user": "U1", "ts": "1700000120.000000"},
    }
    payload = changed(
        {**both, "attachments": [{"id": 1, "from_url": "https://acme.example"}]}, both
    )
    assert ignored(event(payload)).rule == "no-text-change"


def test_our_own_stream_and_card_redraws_are_echoes() -> None:
    found = ignored(told("event.message_changed_stream"))
    assert (found.verdict, found.rule) == ("own_echo", "own-edit")
    without_names = replace(ME, bot_id="", bot_user="", app="")
    assert ignored(told("event.message_changed_stream", without_names)).rule == "own-edit"


def test_a_post_that_was_ours_before_the_change_is_ours() -> None:
    payload = changed({}, {"user": "UJUNE", "bot_id": "BJUNE"})
    assert ignored(event(payload)).rule == "own-edit"


def test_a_bots_edit_is_nothing_to_us_even_if_the_bot_is_listed() -> None:
    payload = changed({"bot_id": "B9"})
    found = ignored(event(payload, ME, policy.rules(bots=["B9"])))
    assert (found.verdict, found.rule) == ("other_bot", "edit")


@pytest.mark.parametrize("editor", ["U2", None, "USLACKBOT"])
def test_only_its_author_edits_a_message(editor: Json) -> None:
    found = ignored(event(changed({"edited": {"user": editor, "ts": "1700000120.000000"}})))
    assert (found.verdict, found.rule) == ("policy", "edited-by-other")


def test_an_edit_that_calls_us_afterwards_is_too_late() -> None:
    found = ignored(event(changed({}, {"text": "where is it?", "blocks": []})))
    assert (found.verdict, found.rule) == ("not_addressed", "edited-later")


def test_an_edit_between_others_is_nothing_to_us() -> None:
    payload = changed({"text": "dinner?", "blocks": []}, {"text": "lunch?", "blocks": []})
    found = ignored(event(payload))
    assert (found.verdict, found.rule) == ("not_addressed", "not-mentioned")
    assert "dinner" not in repr(found)


def test_an_edit_that_takes_our_name_out_is_still_ours() -> None:
    found = control(event(changed({"text": "never mind", "blocks": []})))
    assert found.inbound is not None
    assert (found.inbound.text, found.inbound.addressed) == ("never mind", "mention")


def test_an_edit_in_a_thread_is_for_who_knows_whether_we_take_part() -> None:
    thread: JsonObject = {"thread_ts": "1699990000.000100", "blocks": []}
    payload = changed({**thread, "text": "and 1044?"}, {**thread, "text": "and 1043?"})
    found = control(event(payload))
    assert found.inbound is not None
    assert found.inbound.addressed == "thread"
    assert found.place is not None
    assert found.place.key == "slack:T1:C1:1699990000.000100"


def test_slacks_own_example_without_the_earlier_version_is_an_edit() -> None:
    """The page of message_changed shows none."""
    payload = altered("event.message_changed", "previous_message")
    assert control(event(payload)).kind == "edit"


def test_a_change_that_doesnt_repeat_the_timestamp_is_found_by_the_earlier_version() -> None:
    assert control(event(changed({}, drop="ts"))).post == POST


def test_an_outsiders_edit_needs_the_channel_opened_too() -> None:
    away: JsonObject = {"user_team": "T7", "source_team": "T7"}
    assert ignored(event(changed(away))).rule == "external"
    rules = policy.rules(external=["C1"])
    found = control(event(changed(away), ME, rules))
    assert found.by is not None
    assert found.by.id == "slack:T7:U1"


# -- removals ------------------------------------------------------------------------------------------
def test_a_removed_reply_names_its_post_and_thread() -> None:
    found = control(told("event.message_deleted"))
    assert (found.kind, found.post) == ("delete", "slack:T1:C1:1700000060.000200")
    assert found.place is not None
    assert found.place.key == POST
    assert found.by is None
    assert found.keys[1] == "slack:delete:T1:C1:1700000060.000200:once"


def test_a_removed_root_with_replies_becomes_a_tombstone() -> None:
    found = control(told("event.message_changed_tombstone"))
    assert (found.kind, found.post) == ("delete", POST)
    assert ignored(told("event.message_deleted_tombstone")).verdict == "not_addressed"


def test_the_removal_of_an_unknown_message_is_told_all_the_same() -> None:
    """The page of message_deleted shows no earlier version; the post's id is enough."""
    found = control(event(altered("event.message_deleted", "previous_message")))
    assert found.post == "slack:T1:C1:1700000060.000200"


@pytest.mark.parametrize(
    ("before", "word", "rule"),
    [
        ({"user": "UJUNE"}, "own_echo", "own-delete"),
        ({"bot_id": "B9"}, "other_bot", "delete"),
        ({"thread_ts": None, "text": "lunch?"}, "not_addressed", "not-mentioned"),
        ({"subtype": "channel_join"}, "not_addressed", "subtype"),
    ],
)
def test_other_removals_are_nothing_to_us(before: JsonObject, word: str, rule: str) -> None:
    inner = sample("event.message_deleted")["event"]
    assert isinstance(inner, dict)
    old = inner["previous_message"]
    assert isinstance(old, dict)
    payload = altered("event.message_deleted", previous_message={**old, **before})
    found = ignored(event(payload))
    assert (found.verdict, found.rule) == (word, rule)


@pytest.mark.parametrize("name", ["event.message_changed", "event.message_deleted"])
def test_a_change_of_nothing_is_unsupported(name: str) -> None:
    payload = altered(name, message=None, previous_message=None, deleted_ts=None)
    assert ignored(event(payload)).rule == "no-post"
