"""One call: its context, and running it, as a task of its own or inside the store's transaction."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import cast

from gateway.engine import events as ev
from gateway.engine.decisions.closing import Closed
from gateway.engine.decisions.keys import idempotency_key
from gateway.engine.decisions.position import Owed
from gateway.engine.decisions.telling import told
from gateway.engine.errors import FatalToolError
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.records import (
    LocalCall,
    SqlHandle,
    StepRow,
    Writes,
)
from gateway.engine.steps.asking import not_awaited
from gateway.engine.steps.attempt import Attempt
from gateway.engine.steps.context import (
    CallScene,
    RequestParts,
    StoreAccess,
    ToolContext,
)
from gateway.engine.steps.results import (
    Result,
    close_failed,
    failure,
    result_writes,
    shaped,
)
from gateway.engine.steps.signals import Parked
from gateway.engine.struct import replace, struct
from gateway.engine.tool import Tool

CANCEL_PATIENCE = 5.0


class Scenery:
    """A call with all that is around it."""

    def __init__(self, attempt: Attempt, owed: Owed, tool: Tool) -> None:
        self.attempt = attempt
        self.owed = owed
        self.tool = tool
        world = attempt.world
        earlier = attempt.steps.get(owed.step)
        started = 0 if earlier is None or earlier.done else earlier.attempt
        self.scene = CallScene(
            agent=world.ref.agent,
            session=world.ref.key,
            turn_id=attempt.turn_id,
            call=owed.call,
            position=owed.position,
            tool=tool.name,
            opening=attempt.begun.opening,
            trigger="proactive" if attempt.begun.opening.trigger == "proactive" else "inbound",
            services=world.agent.services,
            idempotency_key=partial(
                idempotency_key, world.ref, attempt.turn_id, owed.step, owed.call, tool
            ),
            attempt=started + 1,
            store=StoreAccess(world.store.dialect, local=not tool.remote),
            answers=attempt.answers,
            now=world.clock.now,
            tell_progress=self._progress,
            remote=tool.remote,
            request_bytes=world.limits.request_bytes,
        )
        self._last_progress = 0.0

    def _progress(self, text: str) -> None:
        attempt = self.attempt
        moment = attempt.world.clock.monotonic()
        attempt.touch()
        if not self.tool.remote or moment - self._last_progress < 0.1:
            return
        self._last_progress = moment
        event = ev.ActionProgress(
            turn_id=attempt.turn_id,
            session=attempt.session,
            at=attempt.now(),
            call_id=self.owed.call.id,
            text=text,
        )
        attempt.world.tasks.run(
            _tell(attempt, event), f"progress of {self.tool.name} in {attempt.turn_id}"
        )

    def arguments(
        self, arguments: dict[str, object]
    ) -> tuple[tuple[object, ...], dict[str, object]]:
        context = (ToolContext(self.scene),) if self.tool.takes_context else ()
        return context, arguments

    @property
    def decision(self) -> JsonObject | None:
        decision = self.scene.decision
        return None if decision is None else decision.as_json()


async def _tell(attempt: Attempt, event: ev.TurnEvent) -> None:
    await attempt.world.publish(attempt.world.ref, (event,))


# -- a remote call -------------------------------------------------------------------------------------------
async def run_remote(scenery: Scenery, arguments: dict[str, object]) -> Result | RequestParts:
    """Record the start, run the call, return its result, or the request that it has to wait for."""
    attempt, scene, tool = scenery.attempt, scenery.scene, scenery.tool
    await _record_start(scenery)
    clock = attempt.world.clock
    began = clock.monotonic()
    try:
        with attempt.alive_for(tool.timeout):
            result = await _supervised(scenery, arguments)
    finally:
        scene.closed = True
    if isinstance(result, RequestParts):
        return result
    return replace(
        result,
        decision=scenery.decision,
        trust="unattested" if tool.untrusted_output else "tool",
        duration=Millis(int((clock.monotonic() - began) * 1000)),
    )


async def _record_start(scenery: Scenery) -> None:
    """It may have happened, from here on."""
    attempt = scenery.attempt
    step = StepRow(
        turn=attempt.row,
        step=scenery.owed.step,
        done=False,
        attempt=scenery.scene.attempt,
        at=attempt.now(),
    )
    await attempt.commit(Writes(steps=(step,)), (), ())


class Outcome:
    """What the tool's own task came to, if it came to anything."""

    result: Result | None = None
    fatal: FatalToolError | None = None


async def _run_tool(scenery: Scenery, arguments: dict[str, object], outcome: Outcome) -> None:
    """The tool's own task: whatever it raises is its result, but for the signals."""
    positional, named = scenery.arguments(arguments)
    run = cast("Callable[..., Awaitable[object]]", scenery.tool.run)
    try:
        value = await run(*positional, **named)
    except Parked:
        return
    except FatalToolError as error:
        outcome.fatal = error
    except asyncio.CancelledError:
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise
        outcome.result = Result.error("CancelledError: the tool cancelled itself")
    except BaseException as error:  # noqa: BLE001 - SystemExit and worse are results too
        outcome.result = failure(error)
    else:
        limit = scenery.attempt.world.limits.tool_result_bytes
        forgotten = [name for name in scenery.scene.asking if name is not None]
        outcome.result = failure(not_awaited(forgotten[0])) if forgotten else shaped(value, limit)


async def _supervised(scenery: Scenery, arguments: dict[str, object]) -> Result | RequestParts:
    """Run the tool as a task of its own. A park, the timeout and a stop each end the wait; the tool
    is then cancelled, and whatever it does about that is discarded."""
    attempt, scene, tool = scenery.attempt, scenery.scene, scenery.tool
    outcome = Outcome()
    scene.parked = asyncio.get_running_loop().create_future()
    task = attempt.world.tasks.start(
        _run_tool(scenery, arguments, outcome), f"tool {tool.name} of {attempt.turn_id}"
    )
    try:
        await asyncio.wait(
            {task, scene.parked}, timeout=tool.timeout, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        cut = not task.done()
        if cut:
            await _end(task)
        scene.parked.cancel()
    if scene.request is not None:
        return scene.request
    if outcome.fatal is not None:
        raise outcome.fatal
    if outcome.result is not None:
        return outcome.result
    why = f"did not answer within {tool.timeout:g} s" if cut else "cancelled its own task"
    return Result.error(
        f"{tool.name} {why}; it may have taken effect", idempotency_key=scene.idempotency_key()
    )


async def _end(task: asyncio.Task[None]) -> None:
    """Cancel until it listens; one that never does is left to the runtime, which owns it."""
    task.cancel()
    await asyncio.wait({task}, timeout=CANCEL_PATIENCE)
    if not task.done():
        task.cancel()


# -- a local call ----------------------------------------------------------------------------------------------
async def run_local(scenery: Scenery, arguments: dict[str, object]) -> None:
    """Run a ``def`` tool inside the store's transaction, its checkpoint with it."""
    attempt, scene, tool = scenery.attempt, scenery.scene, scenery.tool
    ending: list[_Settled] = []
    seq = attempt.seq

    def run(handle: SqlHandle | None) -> object:
        scene.store.handle = handle
        positional, named = scenery.arguments(arguments)
        try:
            value = tool.run(*positional, **named)
        finally:
            scene.store.handle = None
        if inspect.isawaitable(value):
            _discard(value)
            raise TypeError(
                f"{tool.name} is declared with `def` but returned an awaitable; declare it with"
                " `async def`"
            )
        return value

    began = attempt.world.clock.monotonic()

    def settle(value: object, error: BaseException | None) -> Writes:
        attempt.seq = seq
        took = Millis(int((attempt.world.clock.monotonic() - began) * 1000))
        if isinstance(error, FatalToolError):
            closed = close_failed(
                attempt, str(error), phase="tool", step=scenery.owed.step, fatal=True
            )
            ending[:] = [_Settled(closed=closed, fatal=error)]
            return told(closed.writes)
        result = (
            shaped(value, attempt.world.limits.tool_result_bytes)
            if error is None
            else failure(error)
        )
        result = replace(
            result, duration=took, trust="unattested" if tool.untrusted_output else "tool"
        )
        closed = result_writes(attempt, scenery.owed, result)
        ending[:] = [_Settled(closed=closed)]
        return closed.writes

    call = LocalCall(tool.name, attempt.turn_id, run, settle)
    try:
        with attempt.alive_for(tool.timeout):
            await attempt.world.store.run_local(attempt.fence, call)
    finally:
        scene.closed = True
    settled = ending[0]
    await attempt.committed(settled.closed.writes, settled.closed.messages, settled.closed.events)
    if settled.fatal is not None:
        attempt.fatal = settled.fatal


@struct(frozen=True, slots=True)
class _Settled:
    closed: Closed
    fatal: FatalToolError | None = None


def _discard(value: object) -> None:
    if inspect.iscoroutine(value):
        value.close()
    elif isinstance(value, asyncio.Future):
        value.get_loop().call_soon_threadsafe(value.cancel)
