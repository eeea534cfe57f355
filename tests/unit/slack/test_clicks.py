"""A click looks a request up; it proves nothing but who pressed what, where."""

from __future__ import annotations

import pytest

from channels.contract import MISSING, Parsed
from channels.slack.parse import parse
from channels.slack.parsing.clicks import NOT_NEEDED, UNKNOWN
from gateway.engine.kinds import Json, JsonObject
from tests.unit.slack.payloads import ME, ORG, RULES, answer, control, ignored, opened, sample, told

REQ = "req_AAAAAAAAAAAAAAAA"
CARD = "slack:T1:C1:1700000300.000100"


def click(**fields: Json) -> JsonObject:
    return {**sample("interactive.approve"), **fields}


def pressed(**action: Json) -> JsonObject:
    """The approving click, its action altered."""
    first = sample("interactive.approve")["actions"]
    assert isinstance(first, list)
    assert isinstance(first[0], dict)
    return click(actions=[{**first[0], **action}])


def of(payload: JsonObject) -> Parsed:
    return parse(opened("interactive", payload), ME, RULES)


# -- decisions -----------------------------------------------------------------------------------------
def test_approving() -> None:
    found = answer(told("interactive.approve"))
    assert (found.request, found.value, found.reason, found.digest) == (REQ, True, None, "")
    assert found.shown == CARD
    assert (found.by.id, found.by.name, found.by.level) == ("slack:T1:U1", "ada", "provider")
    assert found.keys == ("slack:act:T1:1700000300.000100:1700000310.000100:U1",)
    assert found.reply == {
        "source": "slack",
        "installation": "T1",
        "team": "T1",
        "channel": "C1",
        "user": "U1",
        "user_team": "T1",
        "thread_ts": "1700000000.000100",
        "response_url": "https://hooks.slack.com/actions/T1/1/abc",
        "trigger_id": "111.222.abc",
    }


def test_denying() -> None:
    assert answer(told("interactive.deny")).value is False


@pytest.mark.parametrize("name", ["interactive.pick", "interactive.pick_select"])
def test_choosing_names_the_option_by_its_number(name: str) -> None:
    found = answer(told(name))
    assert (found.value, found.reply["choice"], found.request) == (MISSING, 2, REQ)


@pytest.mark.parametrize("option", ["x", "", "-1", "2.5", "99999", None])
def test_an_option_without_a_number_is_no_choice(option: Json) -> None:
    payload = pressed(
        action_id="june.pick", type="static_select", value=None, selected_option={"value": option}
    )
    assert ignored(of(payload)).rule == "forged-answer"


def test_the_same_click_told_again_claims_the_same_key() -> None:
    first, again = answer(told("interactive.approve")), answer(told("socket.interactive"))
    assert first.keys == again.keys


@pytest.mark.parametrize(
    "fields",
    [
        {"user": {"id": "U2", "team_id": "T1"}},
        {"container": {"type": "message", "message_ts": "1700000301.000100", "channel_id": "C1"}},
    ],
)
def test_another_person_or_card_is_another_click(fields: JsonObject) -> None:
    assert answer(of(click(**fields))).keys != answer(told("interactive.approve")).keys


def test_names_in_the_payload_are_labels_only() -> None:
    user: Json = {"id": "U1", "team_id": "T1", "name": "boss\u202e\n", "username": "boss"}
    found = answer(of(click(user=user)))
    assert (found.by.id, found.by.name) == ("slack:T1:U1", "boss")


# -- what is looked at ---------------------------------------------------------------------------------
def test_the_other_form_opens_for_a_form_or_a_reason() -> None:
    for name, form in (("form", "june.answer"), ("reason", "june.reason")):
        found = control(told(f"interactive.{name}"))
        assert (found.kind, found.post) == ("form", CARD)
        assert (found.reply["request"], found.reply["form"]) == (REQ, form)
        assert found.reply["trigger_id"] == "111.222.abc"


def test_all_arguments_are_shown_page_by_page() -> None:
    first, next_one = control(told("interactive.show")), control(told("interactive.show_page"))
    assert (first.kind, first.reply["page"], first.post) == ("show", 0, CARD)
    assert (next_one.kind, next_one.reply["page"], next_one.post) == ("show", 1, None)
    assert next_one.reply["view_id"] == "V1"
    assert first.reply["request"] == next_one.reply["request"] == REQ


# -- what is forged ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "payload",
    [
        sample("interactive.forged"),
        pressed(value="", block_id="x"),
        pressed(value="a b", block_id="x"),
        pressed(value="x" * 200, block_id="x"),
        pressed(value=None, block_id="june..1"),
        pressed(value=True, block_id=7),
        click(container={"type": "message", "channel_id": "C1"}, message=None),
        click(container={"type": "message", "message_ts": "1.1"}, channel=None),
        click(container={"type": "view", "view_id": "V1"}, channel=None, message=None),
    ],
)
def test_an_answer_that_names_no_one_request_on_a_message_decides_nothing(
    payload: JsonObject,
) -> None:
    found = ignored(of(payload))
    assert (found.verdict, found.rule, found.say) == ("policy", "forged-answer", NOT_NEEDED)
    assert found.reply is not None
    assert found.reply["user"] == "U1"


@pytest.mark.parametrize(
    "action_id",
    [
        *("", "june", "june.", "june.approve.x", "june.approved", "JUNE.approve", 7, "feedback"),
        *("x.june.approve", "june.approve\n", "june.pay", "june.approve.1", "june.pick.1.2"),
    ],
)
def test_a_button_that_isnt_ours_is_answered_and_does_nothing(action_id: Json) -> None:
    found = ignored(of(pressed(action_id=action_id)))
    assert (found.verdict, found.rule, found.say) == ("unsupported", "unknown-action", UNKNOWN)
    assert found.reply is not None


@pytest.mark.parametrize(
    "fields",
    [
        {"user": None},
        {"user": {"id": "U1:admin"}},
        {"actions": []},
        {"actions": None},
        {"user": "U1"},
    ],
)
def test_a_click_by_nobody_or_on_nothing_is_unsupported(fields: JsonObject) -> None:
    assert ignored(of(click(**fields))).rule == "no-author"


# -- forms ---------------------------------------------------------------------------------------------
def test_a_sent_form_brings_what_was_typed() -> None:
    found = answer(told("interactive.view_submission"))
    assert (found.request, found.value, found.shown) == (REQ, MISSING, "")
    assert found.reply["state"] == {
        "amount": {"june.field": {"type": "number_input", "value": "12.50"}}
    }
    assert found.keys == ("slack:view:T1:V1:111.333.abc:U1",)


def test_a_form_corrected_and_sent_again_is_another_answer() -> None:
    again = {**sample("interactive.view_submission"), "trigger_id": "111.334.abc"}
    assert answer(of(again)).keys != answer(told("interactive.view_submission")).keys


def test_denying_with_a_reason() -> None:
    found = answer(told("interactive.view_submission_reason"))
    assert (found.value, found.reason) == (False, "wrong order")
    assert "state" not in found.reply


@pytest.mark.parametrize(
    "view",
    [
        {"callback_id": "other"},
        {"private_metadata": ""},
        {"private_metadata": "a b"},
        {"private_metadata": None},
    ],
)
def test_a_form_that_isnt_ours_is_answered_and_does_nothing(view: JsonObject) -> None:
    payload = sample("interactive.view_submission")
    given = payload["view"]
    assert isinstance(given, dict)
    found = ignored(of({**payload, "view": {**given, **view}}))
    assert (found.rule, found.say) == ("unknown-view", UNKNOWN)


@pytest.mark.parametrize("state", [None, {}, {"values": 7}, {"values": {"why": []}}])
def test_a_reason_that_cant_be_found_is_none(state: Json) -> None:
    payload = sample("interactive.view_submission_reason")
    given = payload["view"]
    assert isinstance(given, dict)
    found = answer(of({**payload, "view": {**given, "state": state}}))
    assert (found.value, found.reason) == (False, None)


# -- whose click ---------------------------------------------------------------------------------------
def test_a_stranger_is_an_outsider_by_the_team_of_the_user_not_of_the_payload() -> None:
    found = answer(told("interactive.connect_click"))
    assert (found.by.id, found.by.level) == ("slack:T7:U7", "sender")


def test_in_an_org_wide_installation_a_member_is_of_the_organisation() -> None:
    found = answer(told("interactive.org_click", ORG))
    assert (found.by.id, found.by.level) == ("slack:E1:W1", "provider")
    assert found.shown == "slack:E1:C1:1700000300.000100"
