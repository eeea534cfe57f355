"""How a turn ends. Pure.

Every terminal write, whoever makes it, gives each owed call a result in the same transaction, so
that the next model call never meets a call without one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from itertools import count
from typing import cast

from gateway.engine import events as ev
from gateway.engine.decisions.position import Owed, last_reply, owed
from gateway.engine.kinds import (
    CancelReason,
    Json,
    JsonObject,
    Millis,
    SessionRef,
    Trust,
    TurnState,
)
from gateway.engine.messages import Message, ToolResult
from gateway.engine.records import (
    Audit,
    RequestRecord,
    StepRow,
    TurnRecord,
    Writes,
)
from gateway.engine.struct import replace, struct
from gateway.engine.wire import block_from, dumps, loads, message_row
from gateway.engine.wire.events import error_of, event_row, summary


@struct(frozen=True, slots=True)
class Ending:
    """What a turn ends with: its state, its error record, its terminal event's own fields."""

    state: TurnState
    error: JsonObject | None = None

    @classmethod
    def cancelled(cls, reason: CancelReason) -> Ending:
        return cls("cancelled", {"reason": reason})

    @classmethod
    def timed_out(cls, deadline: str) -> Ending:
        return cls("timed_out", {"deadline": deadline})

    @classmethod
    def failed(cls, message: str, *, phase: str | None = None, step: str | None = None) -> Ending:
        error: JsonObject = {"message": message}
        if phase is not None:
            error["phase"] = phase
        if step is not None:
            error["step"] = step
        return cls("failed", error)


@struct(frozen=True, slots=True, kw_only=True)
class Scene:
    """What the terminal write needs to know of the turn."""

    record: TurnRecord
    session: str
    generation: int
    messages: Sequence[Message]
    """The turn's messages from its last assistant message on (or more of the transcript)."""
    started: frozenset[str]
    """Steps whose async call was recorded as started and never got a result."""
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    """Idempotency keys of started calls, by step."""
    request: RequestRecord | None = None
    """The open request, when the turn is parked."""
    fatal: tuple[str, str] | None = None
    """(step, message) of the call that failed the turn."""
    stored: Mapping[str, StepRow] = field(default_factory=dict[str, StepRow])
    """Steps of parallel calls that ended before their message could be appended."""
    now: Millis


@struct(frozen=True, slots=True)
class Closed:
    writes: Writes
    events: tuple[ev.TurnEvent, ...]
    messages: tuple[Message, ...]
    record: TurnRecord


def close(scene: Scene, ending: Ending) -> Closed:
    """The turn's terminal write: results for owed calls, the request's end, the terminal event."""
    record, now = scene.record, scene.now
    seq = count(record.last_seq + 1)
    events: list[ev.TurnEvent] = []
    messages: list[Message] = []
    calls = _owed(scene)
    for one in calls:
        kept = scene.stored.get(one.step)
        result, trust = _unrun(one, scene, ending) if kept is None else stored_result(kept)
        source = scene.messages[-1].source
        messages.append(tool_message(one.index, record, source, result, trust=trust))
        if kept is None:  # else it was told of when it ended
            events.append(
                ev.ActionCompleted(
                    turn_id=record.turn_id,
                    session=scene.session,
                    at=now,
                    seq=next(seq),
                    call_id=one.call.id,
                    name=one.call.name,
                    result=summary(result.output),
                    error=error_of(result),
                    message=one.index,
                )
            )
    requests: tuple[RequestRecord, ...] = ()
    if scene.request is not None and scene.request.outcome is None:
        requests = (replace(scene.request, outcome="cancelled", decided_at=now),)
        events.append(
            ev.InputAnswered(
                turn_id=record.turn_id,
                session=scene.session,
                at=now,
                seq=next(seq),
                id=scene.request.id,
                outcome="cancelled",
            )
        )
    events.append(_terminal(record.turn_id, scene.session, now, next(seq), ending))
    ended = replace(
        record,
        state=ending.state,
        error=None if ending.error is None else dumps(ending.error),
        ended_at=now,
        attempt_at=None,
        request=None,
        last_seq=record.last_seq + len(events),
    )
    writes = Writes(
        messages=tuple(message_row(one, scene.generation, record.row) for one in messages),
        steps=tuple(appended(record, one, now) for one in calls),
        events=tuple(event_row(event, record.row) for event in events),
        turns=(ended,),
        requests=requests,
    )
    return Closed(writes, tuple(events), tuple(messages), ended)


def _owed(scene: Scene) -> Sequence[Owed]:
    reply = last_reply(scene.messages, scene.record.turn_id)
    return () if reply is None else owed(reply, scene.messages[-1].index - reply.index)


def stored_result(step: StepRow) -> tuple[ToolResult, Trust]:
    """The result that the step of a parallel call keeps until its message is appended."""
    value = loads(step.body or "")
    return cast("ToolResult", block_from(value["block"])), cast("Trust", value["trust"])


def appended(record: TurnRecord, one: Owed, now: Millis) -> StepRow:
    """A call's step once its message stands in the transcript."""
    return StepRow(
        turn=record.row,
        step=one.step,
        done=True,
        attempt=record.attempts,
        message=one.index,
        at=now,
    )


def unappended(steps: Iterable[StepRow]) -> dict[str, StepRow]:
    return {step.step: step for step in steps if step.done and step.body is not None}


def unknown_outcomes(
    ref: SessionRef, record: TurnRecord, steps: Iterable[str], now: Millis
) -> tuple[Audit, ...]:
    """For the operator: calls that may have taken effect, and whose answer was lost."""
    return tuple(
        Audit(
            at=now,
            kind="outcome_unknown",
            agent=ref.agent,
            session=ref.key,
            turn_id=record.turn_id,
            subject=step,
            by=None,
            digest=None,
            outcome="unknown",
        )
        for step in steps
    )


def tool_message(
    index: int, record: TurnRecord, source: str, result: ToolResult, *, trust: Trust = "tool"
) -> Message:
    return Message(
        index=index,
        role="tool",
        blocks=(result,),
        turn_id=record.turn_id,
        source=source,
        trust=trust,
    )


def _unrun(one: Owed, scene: Scene, ending: Ending) -> tuple[ToolResult, Trust]:
    """The result of a call that never got one."""
    return ToolResult(one.call.id, one.call.name, *_why_unrun(one, scene, ending)), "tool"


def _why_unrun(one: Owed, scene: Scene, ending: Ending) -> tuple[Json, bool]:
    """What the model reads, and whether it is an error."""
    if scene.fatal is not None and scene.fatal[0] == one.step:
        return {"error": scene.fatal[1]}, True
    if one.step in scene.started:
        key = scene.keys.get(one.step, "")
        return {
            "error": "outcome unknown: the call had started and its answer was lost; it may have"
            " taken effect",
            "idempotency_key": key,
        }, True
    match ending.state:
        case "cancelled":
            return {"cancelled": True}, False
        case "timed_out":
            return {"error": "not run: the turn ran out of time"}, True
        case _:
            return {"error": "not run: the turn failed"}, True


def _terminal(turn_id: str, session: str, at: Millis, seq: int, ending: Ending) -> ev.TurnEvent:
    error = ending.error or {}
    match ending.state:
        case "cancelled":
            reason = cast("CancelReason", error["reason"])
            return ev.TurnCancelled(turn_id=turn_id, session=session, at=at, seq=seq, reason=reason)
        case "timed_out":
            return ev.TurnTimedOut(
                turn_id=turn_id, session=session, at=at, seq=seq, deadline=str(error["deadline"])
            )
        case _:
            phase, step = error.get("phase"), error.get("step")
            return ev.TurnFailed(
                turn_id=turn_id,
                session=session,
                at=at,
                seq=seq,
                error=str(error["message"]),
                phase=None if phase is None else str(phase),
                step=None if step is None else str(step),
            )


def error_record(record: TurnRecord) -> JsonObject | None:
    return None if record.error is None else loads(record.error)
