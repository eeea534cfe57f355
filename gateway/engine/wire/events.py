"""Durable events <-> their log rows, and every event as the JSON that readers get.

A row points at the message or usage row that holds its content (``ref``) instead of repeating it;
``body`` holds only what stands nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from typing import cast, get_args

from gateway.engine import events as ev
from gateway.engine.kinds import Json, JsonObject, Millis, SessionRef, TurnRow
from gateway.engine.messages import Message, Reasoning, ToolCall, ToolResult
from gateway.engine.model import Usage
from gateway.engine.records import EventRow, LoggedEvent
from gateway.engine.wire import dumps_known, loads, message_from, usage_from, usage_json

SUMMARY_CHARACTERS = 2000


def summary(output: Json, text: str | None = None) -> str:
    """A result in at most 2,000 characters, as events carry it. ``text`` is its JSON, if known."""
    text = output if isinstance(output, str) else text or dumps_known(output)
    return text if len(text) <= SUMMARY_CHARACTERS else text[: SUMMARY_CHARACTERS - 1] + "…"


UNMADE = summary({"cancelled": True})
"""The result of a call that a cancelled turn never made; a tool may say the same of its own work."""


def error_of(result: ToolResult) -> str | None:
    if not result.is_error:
        return None
    output = result.output
    return summary(output["error"] if isinstance(output, dict) and "error" in output else output)


def reasoning_text(message: Message) -> str:
    return "".join([block.text for block in message.blocks if isinstance(block, Reasoning)])


# -- event → row -----------------------------------------------------------------------------------
def event_row(event: ev.TurnEvent, turn: TurnRow, *, inline: bool = False) -> EventRow:
    """The log row of a durable event. ``inline`` keeps the content in the row itself, for an event
    that commits before the message it speaks of."""
    ref: int | None = None
    body: str | None = None
    # isinstance, commonest first: class patterns of a match cost several times as much, per event.
    if isinstance(event, _BY_REFERENCE):
        ref = event.message
    elif isinstance(event, ev.ActionRequested):
        ref, body = event.message, dumps_known(event.call.id)
    elif isinstance(event, ev.ActionCompleted):
        ref = event.message
        told: list[Json] = [event.call_id, event.duration]
        body = dumps_known([*told, event.name, event.result, event.error] if inline else told)
    elif isinstance(event, ev.TurnCompleted):
        ref, body = event.message, dumps_known(event.totals)
    else:
        body = dumps_known(_own_fields(event))
    return EventRow(turn=turn, seq=event.seq or 0, at=event.at, type=event.type, ref=ref, body=body)


_BY_REFERENCE = (ev.UsageEvent, ev.MessageCompleted, ev.ReasoningCompleted)
_BASE = {field.name for field in fields(ev.Event)}


_OWN = {
    kind.type: tuple(field.name for field in fields(kind) if field.name not in _BASE)
    for kind in cast("tuple[type[ev.Event], ...]", get_args(ev.TurnEvent))
}


def _own_fields(event: ev.Event) -> JsonObject:
    return {name: cast("Json", getattr(event, name)) for name in _OWN[event.type]}


# -- row → event -----------------------------------------------------------------------------------
class _Read:
    """One logged event on its way back: base fields plus what its row points at."""

    def __init__(self, logged: LoggedEvent, ref: SessionRef, turn_id: str) -> None:
        self.logged = logged
        self.base = {
            "turn_id": turn_id,
            "session": ref.key,
            "at": logged.event.at,
            "seq": logged.event.seq,
        }

    @property
    def body(self) -> JsonObject:
        return loads(self.logged.event.body or "{}")

    @property
    def index(self) -> int:
        return self.logged.event.ref or 0

    @property
    def message(self) -> Message | None:
        return None if self.logged.message is None else message_from(self.logged.message)


def _action_requested(read: _Read) -> ev.TurnEvent:
    call_id = read.logged.event.body
    message = read.message
    found = (
        next((c for c in message.calls if dumps_known(c.id) == call_id), None) if message else None
    )
    call = found or ToolCall(id=(call_id or "").strip('"'), name="", input={})
    return ev.ActionRequested(call=call, message=read.index, **read.base)  # type: ignore[arg-type]


def _action_completed(read: _Read) -> ev.TurnEvent:
    told = cast("list[Json]", json.loads(read.logged.event.body or "[]"))
    call_id, duration = str(told[0]), Millis(cast("int", told[1]))
    name, result, error = "", "", None
    message = read.message
    if message is not None and message.results:
        found = message.results[0]
        name, result, error = found.name, summary(found.output), error_of(found)
    elif len(told) > 2:
        name, result, error = str(told[2]), str(told[3]), cast("str | None", told[4])
    return ev.ActionCompleted(
        call_id=call_id,
        name=name,
        result=result,
        error=error,
        duration=duration,
        message=read.index,
        **read.base,  # type: ignore[arg-type]
    )


def _message_completed(read: _Read) -> ev.TurnEvent:
    message = read.message
    text = message.text if message else ""
    return ev.MessageCompleted(text=text, message=read.index, **read.base)  # type: ignore[arg-type]


def _reasoning_completed(read: _Read) -> ev.TurnEvent:
    message = read.message
    text = reasoning_text(message) if message else ""
    return ev.ReasoningCompleted(text=text, message=read.index, **read.base)  # type: ignore[arg-type]


def _usage(read: _Read) -> ev.TurnEvent:
    row = read.logged.usage
    usage = usage_from(row) if row else Usage()
    return ev.UsageEvent(usage=usage, message=read.index, **read.base)  # type: ignore[arg-type]


def _turn_completed(read: _Read) -> ev.TurnEvent:
    message = read.message
    return ev.TurnCompleted(
        text=message.text if message else "",
        totals=read.body,
        message=read.logged.event.ref,
        **read.base,  # type: ignore[arg-type]
    )


def _plain(kind: type[ev.Event]) -> Callable[[_Read], ev.TurnEvent]:
    def build(read: _Read) -> ev.TurnEvent:
        return cast("ev.TurnEvent", kind(**read.base, **read.body))  # type: ignore[arg-type]

    return build


_READERS: dict[str, Callable[[_Read], ev.TurnEvent]] = {
    ev.MessageCompleted.type: _message_completed,
    ev.ReasoningCompleted.type: _reasoning_completed,
    ev.ActionRequested.type: _action_requested,
    ev.ActionCompleted.type: _action_completed,
    ev.UsageEvent.type: _usage,
    ev.TurnCompleted.type: _turn_completed,
    **{
        kind.type: _plain(kind)
        for kind in (
            ev.TurnStarted,
            ev.InputRequested,
            ev.InputVoted,
            ev.InputAnswered,
            ev.GuardrailFound,
            ev.TurnFailed,
            ev.TurnCancelled,
            ev.TurnTimedOut,
        )
    },
}


def event_from(logged: LoggedEvent, ref: SessionRef, turn_id: str) -> ev.TurnEvent:
    return _READERS[logged.event.type](_Read(logged, ref, turn_id))


# -- event → JSON ----------------------------------------------------------------------------------
def event_json(event: ev.TurnEvent) -> JsonObject:
    """The event as readers get it: ``type``, ``turn_id``, ``session``, ``at``, ``seq`` when durable,
    then its own fields."""
    out: JsonObject = {
        "type": event.type,
        "turn_id": event.turn_id,
        "session": event.session,
        "at": event.at,
    }
    if event.seq is not None:
        out["seq"] = event.seq
    match event:
        case ev.ActionRequested():
            call = event.call
            out["call"] = {"id": call.id, "name": call.name, "input": call.input}
        case ev.UsageEvent():
            out |= usage_json(event.usage)
        case _:
            out |= {k: v for k, v in _own_fields(event).items() if k != "message" and v is not None}
    return out
