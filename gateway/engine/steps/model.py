"""One model step: ask, retry what is worth retrying, commit the reply whole."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from typing import cast

from gateway.engine import events as ev
from gateway.engine.decisions.position import AskModel
from gateway.engine.errors import GatewayError, ModelError, ModelUnavailableError
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.messages import Block, Message, Reasoning, Text, ToolCall
from gateway.engine.model import (
    NORMAL_STOPS,
    Alive,
    Meter,
    ModelDelta,
    ModelReply,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolInputDelta,
    Usage,
)
from gateway.engine.records import StepRow, Writes
from gateway.engine.schema import to_json
from gateway.engine.steps.attempt import Attempt
from gateway.engine.steps.billing import bill_lost, charge, kept_usage, spent, usage_row
from gateway.engine.steps.foreign import passes_on
from gateway.engine.steps.signals import TurnFailure, TurnStopped
from gateway.engine.struct import replace
from gateway.engine.wire import clean, message_row, totals_json
from gateway.engine.wire.events import event_row, reasoning_text

log = logging.getLogger("gateway.engine")

FIRST_DELAY = 1.0
LONGEST_DELAY = 30.0

NO_JSON = "The arguments are no JSON, or are nested too deeply, so the tool did not run."
CUT_OFF = "The reply stopped with {}, and this call may be cut off, so the tool did not run."

_Shown = TextDelta | ReasoningDelta | ToolInputDelta | Alive
_Stream = AsyncGenerator[ModelDelta | ModelReply, None]


async def model_step(attempt: Attempt, move: AskModel) -> bool:
    """Run one step; whether the turn is complete with it. Raises ``TurnFailure``."""
    _count_steps(attempt, move)
    try:
        reply = await _ask_until_answered(attempt, move)
    except ModelError as error:
        told = f"{error}. Fix: {error.fix}" if error.fix else str(error)
        raise TurnFailure(told, phase="model", step=move.step) from error
    return await _commit(attempt, move, reply)


def _count_steps(attempt: Attempt, move: AskModel) -> None:
    limit = attempt.world.limits.max_steps
    replies = 0
    for message in reversed(attempt.messages):
        if message.turn_id != attempt.turn_id:
            break
        replies += message.role == "assistant"
    if replies >= limit:
        raise TurnFailure(
            f"the turn took {limit} model steps without an answer (max_steps)",
            phase="model",
            step=move.step,
        )


# -- asking ------------------------------------------------------------------------------------------
async def _ask_until_answered(attempt: Attempt, move: AskModel) -> ModelReply:
    clock = attempt.world.clock
    began, tries, empty = clock.monotonic(), 0, 0
    while True:
        try:
            reply = await _ask(attempt)
        except ModelUnavailableError as error:
            tries += 1
            left = attempt.world.limits.model_retry_for - (clock.monotonic() - began)
            delay = _delay(tries, error.retry_after)
            if delay > left:
                raise TurnFailure(
                    f"the model was unavailable after {tries} tries: {error}",
                    phase="model",
                    step=move.step,
                ) from error
            await _wait_to_retry(attempt, tries, delay, str(error))
            continue
        try:
            said = _says_something(reply)
        except (TypeError, AttributeError) as error:
            raise await _unkept(attempt, move, reply, error) from error
        if said:
            return reply
        await bill_lost(attempt, reply.usage)
        if reply.stop not in NORMAL_STOPS:
            raise TurnFailure(
                f"the model stopped with {reply.stop} and said nothing",
                phase="model",
                step=move.step,
            )
        empty += 1
        if empty > 1:
            raise TurnFailure(
                "the model answered with nothing, twice", phase="model", step=move.step
            )


def _says_something(reply: ModelReply) -> bool:
    """Thinking alone is no answer; a paused reply is only half of one and needs no text yet."""
    if reply.stop == "pause_turn":
        return bool(reply.blocks)
    for block in reply.blocks:
        said = block.text.strip() if isinstance(block, Text) else not isinstance(block, Reasoning)
        if said:
            return True
    return False


def _delay(tries: int, retry_after: float | None) -> float:
    if retry_after is not None:
        return max(0.0, retry_after)
    grown = min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** (tries - 1))
    return grown * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not a secret


async def _wait_to_retry(attempt: Attempt, tries: int, delay: float, error: str) -> None:
    event = ev.ModelRetrying(
        turn_id=attempt.turn_id,
        session=attempt.session,
        at=attempt.now(),
        attempt=tries,
        delay=delay,
        error=error,
    )
    await attempt.tell((event,))
    with attempt.alive_for(delay), attempt.interruptible():
        await asyncio.sleep(delay)


async def _ask(attempt: Attempt) -> ModelReply:
    request = ModelRequest(
        edition=attempt.edition,
        messages=attempt.messages,
        history=attempt.transcript.history,
        turn_id=attempt.turn_id,
        session=attempt.session,
    )
    model = attempt.world.agent.model
    reply: ModelReply | None = None
    meter: Meter | None = None
    try:
        stream = cast("_Stream", model.stream(request))
        with _no_cancel_from_within(), attempt.interruptible():
            try:
                async for item in stream:
                    if isinstance(item, ModelReply):
                        reply = item
                        continue
                    if isinstance(item, Meter):
                        meter = item
                        continue
                    attempt.touch()
                    attempt.boundary()
                    if attempt.world.sink.watched(attempt.world.ref):
                        await attempt.tell(_delta_event(attempt, item))
            finally:
                await stream.aclose()
        if reply is None:
            raise ModelUnavailableError("the model's stream ended without a reply")
    except (ModelError, TurnStopped) as why:
        await bill_lost(attempt, spent(why, reply, meter))
        attempt.boundary()  # what comes of being stopped is no failure
        raise
    except BaseException as error:
        if passes_on(error) or isinstance(error, GatewayError):
            raise
        adapter, kind = type(model).__name__, type(error).__name__
        log.exception("the model adapter %s broke", adapter, extra={"turn_id": attempt.turn_id})
        await bill_lost(attempt, spent(None, reply, meter))
        attempt.boundary()
        raise ModelError(
            f"the model adapter {adapter} raised {kind}",
            fix="mend the adapter; the log says where it happened",
        ) from error
    return reply


@contextmanager
def _no_cancel_from_within() -> Generator[None]:
    """One that nobody asked for, passed on, would end the driver and leave the turn to the sweep."""
    try:
        yield
    except asyncio.CancelledError as error:
        if (task := asyncio.current_task()) is None or task.cancelling():
            raise
        raise ModelUnavailableError("the model's call was cancelled from within") from error


def _delta_event(attempt: Attempt, item: _Shown) -> tuple[ev.TurnEvent, ...]:
    turn_id, session, at = attempt.turn_id, attempt.session, attempt.now()
    if isinstance(item, Alive):
        return ()
    if isinstance(item, ToolInputDelta):
        return (
            ev.ToolInputDeltaEvent(
                turn_id=turn_id,
                session=session,
                at=at,
                call_id=item.call_id,
                name=item.name,
                characters=item.characters,
            ),
        )
    kind = ev.MessageDeltaEvent if isinstance(item, TextDelta) else ev.ReasoningDeltaEvent
    return (
        kind(
            turn_id=turn_id,
            session=session,
            at=at,
            text=item.text,
            block=item.block,
            offset=item.offset,
        ),
    )


# -- committing ----------------------------------------------------------------------------------------
async def _commit(attempt: Attempt, move: AskModel, reply: ModelReply) -> bool:
    now, record = attempt.now(), attempt.record
    try:
        message = Message(
            index=move.index,
            role="assistant",
            blocks=_blocks(reply),
            turn_id=record.turn_id,
            source=record.source,
            trust="agent",
            stop=reply.stop,
        )
        row = message_row(message, attempt.begun.generation, record.row)
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise await _unkept(attempt, move, reply, error) from error
    usage = kept_usage(attempt, reply.usage)
    events = _events(attempt, message, usage, now)
    charge(attempt, usage)
    complete = not message.calls and reply.stop != "pause_turn"
    turns = attempt.advanced()
    if complete:
        done = ev.TurnCompleted(
            turn_id=record.turn_id,
            session=attempt.session,
            at=now,
            seq=attempt.next_seq(),
            text=message.text,
            totals=totals_json(attempt.usage),
            message=message.index,
        )
        events.append(done)
        turns = (
            replace(
                record,
                state="completed",
                answer=message.index,
                ended_at=now,
                attempt_at=None,
                crashes=0,
                suspect=0,
                ran=attempt.ran(),
                last_seq=attempt.seq,
            ),
        )
    writes = Writes(
        messages=(row,),
        steps=(
            StepRow(
                turn=record.row,
                step=move.step,
                done=True,
                attempt=record.attempts,
                message=message.index,
                at=now,
            ),
        ),
        usage=(usage_row(attempt, message.index, usage, now),),
        events=tuple([event_row(event, record.row) for event in events]),
        turns=turns,
    )
    await attempt.commit(writes, (message,), events)
    return complete


async def _unkept(
    attempt: Attempt, move: AskModel, reply: ModelReply, error: Exception
) -> TurnFailure:
    await bill_lost(attempt, reply.usage)
    return TurnFailure(
        f"the model's reply isn't JSON, so it can't be kept: {error}", phase="model", step=move.step
    )


def _blocks(reply: ModelReply) -> tuple[Block, ...]:
    """The reply's blocks as they are read back: with clean text, calls that can be kept, and call ids
    that are unique within it. What an abnormal stop may have cut off is never run."""
    seen: set[str] = set()
    out: list[Block] = []
    cut = None if reply.stop in NORMAL_STOPS else CUT_OFF.format(reply.stop)
    for block in reply.blocks:
        match block:
            case Text(text=text, raw=raw):
                out.append(Text(clean(text), raw))
            case ToolCall():
                call = _kept_call(block, cut)
                unique, n = call.id, 1
                while unique in seen:
                    n += 1
                    unique = f"{call.id}~{n}"
                seen.add(unique)
                out.append(call if unique == call.id else replace(call, id=unique))
            case _:
                out.append(block)
    return tuple(out)


def _kept_call(call: ToolCall, cut: str | None) -> ToolCall:
    problem = call.problem or cut
    try:
        given = cast("JsonObject", to_json(call.input))
    except TypeError:
        given, problem = {}, problem or NO_JSON
    return ToolCall(clean(call.id), clean(call.name), given, problem, call.raw)


def _events(attempt: Attempt, message: Message, usage: Usage, at: Millis) -> list[ev.TurnEvent]:
    turn_id, session = attempt.turn_id, attempt.session
    events: list[ev.TurnEvent] = []
    if thought := reasoning_text(message):
        events.append(
            ev.ReasoningCompleted(
                turn_id=turn_id,
                session=session,
                at=at,
                seq=attempt.next_seq(),
                text=thought,
                message=message.index,
            )
        )
    if text := message.text:
        events.append(
            ev.MessageCompleted(
                turn_id=turn_id,
                session=session,
                at=at,
                seq=attempt.next_seq(),
                text=text,
                message=message.index,
            )
        )
    events.extend(
        ev.ActionRequested(
            turn_id=turn_id,
            session=session,
            at=at,
            seq=attempt.next_seq(),
            call=call,
            message=message.index,
        )
        for call in message.calls
    )
    events.append(
        ev.UsageEvent(
            turn_id=turn_id,
            session=session,
            at=at,
            seq=attempt.next_seq(),
            usage=usage,
            message=message.index,
        )
    )
    return events
