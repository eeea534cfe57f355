"""The calls a reply asked for: one after the other, neighbours marked parallel side by side.

What must not run never does: unknown and denied tools, broken arguments, a call the taint gate
stops. Each becomes the call's result, for the model to read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

from gateway.engine.decisions.closing import appended, stored_result, tool_message
from gateway.engine.decisions.position import Owed, RunCalls
from gateway.engine.errors import FatalToolError
from gateway.engine.records import Writes
from gateway.engine.steps.attempt import Attempt
from gateway.engine.steps.calls import Scenery, run_local, run_remote
from gateway.engine.steps.context import RequestParts
from gateway.engine.steps.parking import commit_park
from gateway.engine.steps.results import Result, commit_result, failure
from gateway.engine.steps.signals import TurnFailure
from gateway.engine.steps.taint import GATED, gate
from gateway.engine.struct import struct
from gateway.engine.tool import InvalidToolInput, Tool
from gateway.engine.wire import message_row


@struct(frozen=True, slots=True)
class Ready:
    """A call that may run, with the arguments its function takes."""

    owed: Owed
    tool: Tool
    arguments: dict[str, object]


async def tool_steps(attempt: Attempt, move: RunCalls) -> None:
    """Run what ``move`` owes. Returns when each call has its result, or the turn parked (then
    ``attempt.record.state`` is ``suspended``). Raises ``TurnFailure`` and the turn's signals."""
    waiting = list(move.owed)
    while waiting:
        attempt.boundary()
        batch = _parallel_batch(attempt, waiting)
        for owed in batch or waiting[:1]:
            _refuse_endless_repeats(attempt, owed)
        if len(batch) > 1 or _kept(attempt, waiting[0]) is not None:
            await _run_batch(attempt, batch)
        else:
            await _run_one(attempt, waiting[0])
            if attempt.record.state != "running":
                return
        del waiting[: max(1, len(batch))]


def _refuse_endless_repeats(attempt: Attempt, owed: Owed) -> None:
    limit = attempt.world.limits.same_call
    name, given = owed.call.name, owed.call.input
    alike = 0
    for message in reversed(attempt.messages):
        if message.turn_id != attempt.turn_id:
            break
        calls = message.calls
        if message.index == owed.position:
            calls = calls[: calls.index(owed.call) + 1]
        for call in reversed(calls):
            if call.name != name or call.input != given:
                return
            alike += 1
            if alike >= limit:
                raise TurnFailure(
                    f"the model made the same call of {owed.call.name} {limit} times in a row",
                    phase="tool",
                    step=owed.step,
                )


# -- what may run ------------------------------------------------------------------------------------
def _ready(attempt: Attempt, owed: Owed) -> Ready | Result:
    call = owed.call
    if call.problem is not None:
        return Result.error(call.problem)
    tool = attempt.tools.get(call.name)
    if tool is None:
        return Result.error(_unknown(attempt, call.name))
    try:
        return Ready(owed, tool, dict(tool.validate(call.input)))
    except InvalidToolInput as error:
        return Result.error(str(error))


def _unknown(attempt: Attempt, name: str) -> str:
    listed = any(spec.name == name for spec in attempt.edition.tools)
    known = ", ".join(sorted(attempt.tools)) or "none"
    if listed and name not in attempt.world.agent.tools:
        return f"the tool {name!r} is gone since this turn began. Tools now: {known}"
    return f"there is no tool {name!r}. Tools: {known}"


async def _run_one(attempt: Attempt, owed: Owed) -> None:
    ready = _ready(attempt, owed)
    if isinstance(ready, Result):
        await commit_result(attempt, owed, ready)
        return
    scenery = Scenery(attempt, owed, ready.tool)
    ended = gate(scenery)
    if ended is None:
        if not ready.tool.remote:
            await run_local(scenery, ready.arguments)
            return
        ended = await run_remote(scenery, ready.arguments)
        if ready.tool.parallel:
            ended = _never_parked(ended)
    if isinstance(ended, RequestParts):
        await commit_park(attempt, owed, ended)
    else:
        await commit_result(attempt, owed, ended)


def _never_parked(ended: Result | RequestParts) -> Result:
    if isinstance(ended, RequestParts):
        return Result.error("a call marked parallel can't wait for a person")
    return ended


# -- side by side --------------------------------------------------------------------------------------
def _parallel_batch(attempt: Attempt, waiting: Sequence[Owed]) -> list[Owed]:
    batch: list[Owed] = []
    for owed in waiting:
        if _kept(attempt, owed) is not None:  # whatever became of the tool since
            batch.append(owed)
            continue
        tool = attempt.tools.get(owed.call.name)
        if tool is None or not tool.parallel or owed.call.problem is not None:
            break
        if attempt.transcript.tainted and tool.effect in GATED:
            break
        batch.append(owed)
    return batch


def _kept(attempt: Attempt, owed: Owed) -> Result | None:
    """What the call ended with before an earlier attempt broke off, its message not yet appended."""
    done = attempt.steps.get(owed.step)
    if done is None or not done.done or done.body is None:
        return None
    return Result.from_block(*stored_result(done))


async def _run_batch(attempt: Attempt, batch: list[Owed]) -> None:
    """Each call's step commits when it ends; the messages are appended in call order at the end."""
    fatal: list[tuple[str, FatalToolError]] = []

    async def one(owed: Owed) -> Result | None:
        kept = _kept(attempt, owed)
        if kept is not None:
            return kept
        ready = _ready(attempt, owed)
        if isinstance(ready, Result):
            result = ready
        else:
            try:
                ended = await run_remote(Scenery(attempt, owed, ready.tool), ready.arguments)
            except FatalToolError as error:
                fatal.append((owed.step, error))
                if len(fatal) == 1:
                    return None  # the turn's end tells of it, once its neighbours have finished
                ended = failure(error)
            result = _never_parked(ended)
        async with attempt.order:
            await commit_result(attempt, owed, result, append=False)
        return result

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(owed), name=owed.step) for owed in batch]
    except BaseExceptionGroup as several:
        raise _first(several) from several
    if fatal:
        attempt.fatal_step, error = fatal[0]
        raise error
    results = [result for task in tasks if (result := task.result()) is not None]
    now, record = attempt.now(), attempt.record
    messages = [
        tool_message(
            owed.index,
            record,
            record.source,
            result.block(owed.call),
            trust=result.trust,
        )
        for owed, result in zip(batch, results, strict=True)
    ]
    writes = Writes(
        messages=tuple(
            message_row(message, attempt.begun.generation, record.row) for message in messages
        ),
        steps=tuple(appended(record, owed, now) for owed in batch),
    )
    await attempt.commit(writes, messages, ())


def _first(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """The calls of a batch fail for one reason (the fence, the store, a fatal tool): the first."""
    first = several.exceptions[0]
    if isinstance(first, BaseExceptionGroup):
        return _first(cast("BaseExceptionGroup[BaseException]", first))
    return first
