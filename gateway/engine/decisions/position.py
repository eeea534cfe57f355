"""Where a turn stands, read off its transcript. Pure.

| the turn's last assistant message            | the next move          |
|----------------------------------------------|------------------------|
| none yet                                     | ask the model          |
| has calls without a result                   | run them, in order     |
| has calls, all answered                      | ask the model          |
| has no calls, stopped with ``pause_turn``    | ask the model          |
| has no calls                                 | the turn is complete   |
"""

from __future__ import annotations

from collections.abc import Sequence

from gateway.engine.messages import Message, ToolCall
from gateway.engine.struct import struct


@struct(frozen=True, slots=True)
class AskModel:
    """The reply will be message ``index``."""

    index: int

    @property
    def step(self) -> str:
        return f"model:{self.index}"


def call_step(position: int, call_id: str) -> str:
    """The name of the step that runs a call of message ``position``."""
    return f"tool:{position}:{call_id}"


@struct(frozen=True, slots=True)
class Owed:
    """A call without a result, made by assistant message ``position``; its ``tool`` message will
    be message ``index``."""

    call: ToolCall
    position: int
    index: int

    @property
    def step(self) -> str:
        return call_step(self.position, self.call.id)


@struct(frozen=True, slots=True)
class RunCalls:
    owed: tuple[Owed, ...]


@struct(frozen=True, slots=True)
class Complete:
    message: Message


Move = AskModel | RunCalls | Complete


def last_reply(messages: Sequence[Message], turn_id: str) -> Message | None:
    """The turn's last assistant message."""
    for message in reversed(messages):
        if message.turn_id != turn_id:
            return None
        if message.role == "assistant":
            return message
    return None


def owed(reply: Message, answered: int) -> tuple[Owed, ...]:
    """The calls of ``reply`` after the first ``answered``: results stand in call order."""
    return tuple(
        Owed(call, reply.index, reply.index + 1 + place)
        for place, call in enumerate(reply.calls)
        if place >= answered
    )


def next_move(messages: Sequence[Message], turn_id: str) -> Move:
    """``messages`` is the transcript, or its end from the turn's last assistant message on."""
    reply = last_reply(messages, turn_id)
    last = messages[-1].index
    if reply is None:
        return AskModel(last + 1)
    left = owed(reply, last - reply.index)
    if left:
        return RunCalls(left)
    if reply.calls or reply.stop == "pause_turn":
        return AskModel(last + 1)
    return Complete(reply)
