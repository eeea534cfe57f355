"""How a turn ends. Pure.

Every terminal write, whoever makes it, gives each owed call a result in the same transaction, so
that the next model call never meets a call without one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
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
    EventRow,
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
    events: list[ev.TurnEvent] = []
    rows: list[EventRow] = []
    messages: list[Message] = []
    steps: list[StepRow] = []
    seq = record.last_seq

    def tell(event: ev.TurnEvent) -> None:
        events.append(event)
        rows.append(event_row(event, record.row))

    reply = last_reply(scene.messages, record.turn_id)
    if reply is not None:
        answered = scene.messages[-1].index - reply.index
        for one in owed(reply, answered):
            kept = scene.stored.get(one.step)
            if kept is None:
                result = ToolResult(one.call.id, one.call.name, *_unrun(one, scene, ending))
                trust: Trust = "tool"
            else:
                result, trust = stored_result(kept)
            messages.append(
                tool_message(one.index, record, scene.messages[-1].source, result, trust=trust)
            )
            steps.append(appended(record, one, now))
            if kept is not None:
                continue  # it was told of when it ended
            seq += 1
            tell(
                ev.ActionCompleted(
                    turn_id=record.turn_id,
                    session=scene.session,
                    at=now,
                    seq=seq,
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
        seq += 1
        tell(
            ev.InputAnswered(
                turn_id=record.turn_id,
                session=scene.session,
                at=now,
                seq=seq,
                id=scene.request.id,
                outcome="cancelled",
            )
        )
    seq += 1
    tell(_terminal(record.turn_id, scene.session, now, seq, ending))
    ended = replace(
        record,
        state=ending.state,
        error=None if ending.error is None else dumps(ending.error),
        ended_at=now,
        attempt_at=None,
        request=None,
        last_seq=seq,
    )
    writes = Writes(
        messages=tuple(message_row(one, scene.generation, record.row) for one in messages),
        steps=tuple(steps),
        events=tuple(rows),
        turns=(ended,),
        requests=requests,
    )
    return Closed(writes, tuple(events), tuple(messages), ended)


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


def _unrun(one: Owed, scene: Scene, ending: Ending) -> tuple[Json, bool]:
    """The result of a call that never got one, and whether it is an error."""
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
            reason = str(error["reason"])
            return ev.TurnCancelled(
                turn_id=turn_id,
                session=session,
                at=at,
                seq=seq,
                reason="reset"
                if reason == "reset"
                else "replaced"
                if reason == "replaced"
                else "requested",
            )
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
