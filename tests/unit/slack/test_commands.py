"""Start over: by a command that names its thread, or from a message's menu."""

from __future__ import annotations

import pytest

from channels.contract import Parsed
from channels.slack.parse import parse
from channels.slack.parsing.commands import ELSEWHERE, HOW
from tests.unit.slack.payloads import ME, RULES, control, ignored, inbound, opened, sample, told

THREAD = inbound(told("event.message_mention")).place
LINK = "https://acme.slack.com/archives/C1/p1700000000000100"


def typed(text: str, **fields: str) -> Parsed:
    return parse(opened("command", {**sample("command.reset"), "text": text, **fields}), ME, RULES)


def test_help_is_plain_words() -> None:
    """It is shown as it stands: marks would be read as themselves."""
    assert not {"`", "*", "_"} & {*HOW, *ELSEWHERE}


@pytest.mark.parametrize(
    "text",
    [
        f"reset {LINK}",
        f"  RESET   {LINK}  ",
        f"reset {LINK}?thread_ts=1700000000.000100&cid=C1",
        "reset https://acme.slack.com/archives/C1/p1700000002000100?thread_ts=1700000000.000100",
        f"reset <{LINK}?thread_ts=1700000000.000100&amp;cid=C1>",
        f"reset <{LINK}|this one>",
        f"reset {LINK}?thread_ts=nonsense",
    ],
)
def test_a_link_to_any_message_of_a_thread_names_it(text: str) -> None:
    found = control(typed(text))
    assert (found.kind, found.place) == ("reset", THREAD)
    assert found.by is not None
    assert found.by.id == "slack:T1:U1"
    assert found.reply["response_url"] == "https://hooks.slack.com/commands/T1/1/abc"
    assert found.keys == ("slack:cmd:T1:111.666.abc:U1",)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "reset",
            "help",
            "resett",
            "delete everything",
            "reset it",
            "reset C1 1700000000.0001",
        ),
        *("reset http://acme.slack.com/archives/C1/p1700000000000100", "reset https://["),
        *(f"reset {LINK}x", "reset https://acme.slack.com/files/U1/F1", f"stop {LINK}"),
        "reset https://acme.slack.com/archives/C1:x/p1700000000000100",
    ],
)
def test_anything_else_is_told_how(text: str) -> None:
    found = ignored(typed(text))
    assert (found.verdict, found.rule, found.say) == ("unsupported", "unknown-command", HOW)
    assert found.reply is not None
    assert found.reply["response_url"]


def test_a_thread_of_another_channel_is_not_for_this_one() -> None:
    """Whoever types a command in one channel may not be a member of another."""
    found = ignored(told("command.reset_elsewhere"))
    assert (found.rule, found.say) == ("unknown-command", ELSEWHERE)


def test_a_messages_menu_starts_its_thread_over() -> None:
    found = control(told("interactive.message_action"))
    assert (found.kind, found.place) == ("reset", THREAD)
    assert found.reply["thread_ts"] == "1700000000.000100"


def test_a_message_outside_a_thread_is_its_own() -> None:
    payload = sample("interactive.message_action")
    payload["message"] = {"type": "message", "ts": "1700000500.000100"}
    found = control(parse(opened("interactive", payload), ME, RULES))
    assert found.place is not None
    assert found.place.key == "slack:T1:C1:1700000500.000100"


def test_the_global_shortcut_is_told_how() -> None:
    assert ignored(told("interactive.shortcut")).say == HOW


@pytest.mark.parametrize("name", ["interactive.message_action", "interactive.shortcut"])
def test_an_unknown_shortcut_is_answered_and_does_nothing(name: str) -> None:
    payload = {**sample(name), "callback_id": "other"}
    found = ignored(parse(opened("interactive", payload), ME, RULES))
    assert found.rule == "unknown-command"
    assert found.say is not None
    assert "Nothing was done" in found.say


@pytest.mark.parametrize("fields", [{"user_id": ""}, {"channel_id": ""}, {"user_id": "U1:x"}])
def test_a_command_by_nobody_is_unsupported(fields: dict[str, str]) -> None:
    assert ignored(typed(f"reset {LINK}", **fields)).rule == "no-author"
