"""Where a turn stands, read off its transcript."""

from __future__ import annotations

import pytest

from gateway.engine.decisions.position import (
    AskModel,
    Complete,
    Move,
    Owed,
    RunCalls,
    last_reply,
    next_move,
)
from gateway.engine.kinds import Role
from gateway.engine.messages import Block, Message, Text, ToolCall, ToolResult

ONE, TWO = ToolCall("c1", "a", {}), ToolCall("c2", "b", {})


def message(
    index: int, role: Role, *blocks: Block, turn: str = "t", stop: str | None = None
) -> Message:
    return Message(index, role, blocks, turn, "api", "operator", stop=stop)


def done(index: int, call: ToolCall) -> Message:
    return message(index, "tool", ToolResult(call.id, call.name, None))


OPENING = message(4, "user", Text("go"))
ASKED = message(5, "assistant", ONE, TWO)
SAID = message(5, "assistant", Text("hi"), stop="end_turn")
PAUSED = message(5, "assistant", Text("hm"), stop="pause_turn")


@pytest.mark.parametrize(
    ("transcript", "move"),
    [
        ([OPENING], AskModel(5)),
        ([OPENING, ASKED], RunCalls((Owed(ONE, 5, 6), Owed(TWO, 5, 7)))),
        ([OPENING, ASKED, done(6, ONE)], RunCalls((Owed(TWO, 5, 7),))),
        ([OPENING, ASKED, done(6, ONE), done(7, TWO)], AskModel(8)),
        ([OPENING, PAUSED], AskModel(6)),
        ([OPENING, SAID], Complete(SAID)),
        ([ASKED, done(6, ONE)], RunCalls((Owed(TWO, 5, 7),))),
    ],
    ids=["opened", "asked", "half answered", "answered", "paused", "said", "only the tail"],
)
def test_each_row_of_the_table(transcript: list[Message], move: Move) -> None:
    assert next_move(transcript, "t") == move


def test_an_earlier_turns_reply_is_not_this_ones() -> None:
    before = message(1, "assistant", Text("old"), turn="before")
    assert last_reply([before, OPENING], "t") is None
    assert next_move([before, OPENING], "t") == AskModel(5)


def test_a_step_is_named_by_the_place_in_the_transcript() -> None:
    assert AskModel(7).step == "model:7"
    assert Owed(ONE, 5, 6).step == "tool:5:c1"
