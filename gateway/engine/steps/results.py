"""What a call ended with: the result the model reads, and what its end writes."""

from __future__ import annotations

from typing import cast

from gateway.engine import events as ev
from gateway.engine.decisions.closing import (
    Closed,
    Ending,
    Scene,
    appended,
    close,
    tool_message,
    unappended,
    unknown_outcomes,
)
from gateway.engine.decisions.keys import keys_of
from gateway.engine.decisions.position import Owed
from gateway.engine.decisions.telling import call_ended
from gateway.engine.errors import GatewayError
from gateway.engine.kinds import Json, JsonObject, Millis, Trust
from gateway.engine.messages import Block, ToolCall, ToolResult
from gateway.engine.records import Writes
from gateway.engine.schema import to_json
from gateway.engine.steps.attempt import Attempt
from gateway.engine.struct import replace, struct
from gateway.engine.wire import block_json, clean, dumps_known, message_row
from gateway.engine.wire.events import error_of, event_row, summary

ERROR_CHARACTERS = 2000


@struct(frozen=True, slots=True, kw_only=True)
class Result:
    """What a call ended with, as the model will read it."""

    output: Json
    is_error: bool = False
    decision: JsonObject | None = None
    trust: Trust = "tool"
    duration: Millis = Millis(0)
    text: str | None = None
    """The output as JSON, where it is known."""

    @classmethod
    def error(cls, message: str, **more: Json) -> Result:
        return cls(output={"error": clean(message)[:ERROR_CHARACTERS], **more}, is_error=True)

    @classmethod
    def from_block(cls, block: Block, trust: Trust) -> Result:
        result = cast("ToolResult", block)
        return cls(
            output=result.output, is_error=result.is_error, decision=result.decision, trust=trust
        )

    def block(self, call: ToolCall) -> ToolResult:
        return ToolResult(call.id, call.name, self.output, self.is_error, self.decision)


def failure(error: BaseException) -> Result:
    """A tool's exception as a result: the class unless it is plain, the message, never a stack."""
    message = _told_by(error)
    if isinstance(error, GatewayError) and error.fix:
        message = f"{message}. Fix: {error.fix}"
    kind = type(error).__name__
    if type(error) is Exception and message:
        return Result.error(message)
    return Result.error(f"{kind}: {message}" if message else kind)


def _told_by(error: BaseException) -> str:
    try:
        return str(error).strip()
    except BaseException:  # noqa: BLE001 - an author's own __str__ may be what is broken
        return "its message can't be read"


def shaped(value: object, limit: int) -> Result:
    """A tool's return value as a result: JSON, within the limit, or an error that says why not."""
    try:
        output = to_json(value)
        body = dumps_known(output)
    except (TypeError, ValueError, RecursionError) as error:
        return Result.error(f"the tool's result isn't JSON: {error}")
    except BaseException as error:  # noqa: BLE001 - reading it runs the author's code as well
        return Result.error(f"the tool's result can't be read: {type(error).__name__}: {error}")
    if len(body) <= limit // 4 or len(body.encode()) <= limit:
        return Result(output=output, text=body)
    kept = body.encode()[: limit // 2].decode("utf-8", "ignore")
    return Result(output={"cut": True, "bytes": len(body.encode()), "start": kept})


def result_writes(attempt: Attempt, owed: Owed, result: Result, *, append: bool = True) -> Closed:
    now, record = attempt.now(), attempt.record
    block = result.block(owed.call)
    message = tool_message(owed.index, record, record.source, block, trust=result.trust)
    event = ev.ActionCompleted(
        turn_id=record.turn_id,
        session=attempt.session,
        at=now,
        seq=attempt.next_seq(),
        call_id=owed.call.id,
        name=owed.call.name,
        result=summary(block.output, result.text),
        error=error_of(block),
        duration=result.duration,
        message=owed.index,
    )
    step = appended(record, owed, now)
    if not append:
        body = dumps_known({"block": block_json(block), "trust": result.trust})
        step = replace(step, message=None, body=body)
    writes = Writes(
        messages=(message_row(message, attempt.begun.generation, record.row),) if append else (),
        steps=(step,),
        events=(event_row(event, record.row, inline=not append),),
        turns=attempt.advanced(),
        companions=call_ended(record, attempt.answers.values(), owed, now),
    )
    return Closed(writes, (event,), (message,) if append else (), record)


async def commit_result(
    attempt: Attempt, owed: Owed, result: Result, *, append: bool = True
) -> None:
    closed = result_writes(attempt, owed, result, append=append)
    await attempt.commit(closed.writes, closed.messages, closed.events)


def close_failed(
    attempt: Attempt, message: str, *, phase: str | None, step: str | None, fatal: bool = False
) -> Closed:
    ending = Ending.failed(clean(message)[:ERROR_CHARACTERS], phase=phase, step=step)
    return close_with(attempt, ending, fatal=step if fatal else None)


def close_with(attempt: Attempt, ending: Ending, *, fatal: str | None = None) -> Closed:
    """The turn's terminal write, seen from this attempt."""
    started = {
        step.step: step for step in attempt.steps.values() if step.lost and step.step != fatal
    }
    record = replace(attempt.record, last_seq=attempt.logged, ran=attempt.ran())
    message = "" if ending.error is None else str(ending.error.get("message", ""))
    scene = Scene(
        record=record,
        session=attempt.session,
        generation=attempt.begun.generation,
        messages=attempt.messages,
        started=frozenset(started),
        keys=keys_of(attempt.world.ref, attempt.messages, started, attempt.tools),
        fatal=None if fatal is None else (fatal, message),
        stored=unappended(attempt.steps.values()),
        now=attempt.now(),
    )
    closed = close(scene, ending)
    if not started:
        return closed
    audits = unknown_outcomes(attempt.world.ref, record, started, attempt.now())
    return replace(closed, writes=replace(closed.writes, companions=audits))
