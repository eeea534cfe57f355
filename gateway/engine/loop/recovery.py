"""What makes the runtime come back by itself: picking up at start, and the ticks after it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from functools import partial

from gateway.engine.decisions.attempts import blame_running, must_run_alone
from gateway.engine.decisions.park import decide_expiry
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.kinds import Millis, SessionRef
from gateway.engine.loop.keeper import Keeper
from gateway.engine.records import Ask, OpenSession, RequestRecord
from gateway.engine.steps.signals import Cancelled, TimedOut

log = logging.getLogger("gateway.engine")

TICK = 0.25
SWEEP_EVERY = 1.0
PATIENCE_ALONE = 60.0
"""Seconds a suspect has the process to itself; one that lives longer isn't an instant killer."""


def lease(runtime: Keeper) -> Millis:
    return Millis(int(runtime.limits.lease * 1000))


def mine(runtime: Keeper, found: OpenSession) -> bool:
    """Whether this process may take the session: nobody alive has it."""
    if found.ref.agent not in runtime.agents:
        return False
    return found.owner is None or found.owner == runtime.owner or not found.owner_alive


# -- at start ------------------------------------------------------------------------------------------
async def pick_up(runtime: Keeper) -> None:
    """Wake every session with unfinished work. Turns that were running when a process died are put
    back in line first; one that may have killed it runs alone before anything else does."""
    backlog = [
        found for found in await runtime.store.backlog(lease(runtime)) if mine(runtime, found)
    ]
    dead = [found for found in backlog if found.owner is not None and not found.owner_alive]
    running = {
        found.ref for found in await runtime.store.list_turns(state="running", limit=100_000)
    }
    suspects = [found.ref for found in dead if found.ref in running]
    alone: list[SessionRef] = []
    for ref in suspects:
        decide = partial(blame_running, owner=runtime.owner, only=len(suspects) == 1)
        blamed = await runtime.store.amend(ref, Ask(head=True), decide)
        if blamed is not None and must_run_alone(blamed):
            alone.append(ref)
    if alone:
        for ref in alone:
            runtime.actor(ref).quarantined = True
        runtime.gate.close()
        runtime.tasks.run(_one_by_one(runtime, alone), "turns that run alone")
    for found in backlog:
        runtime.actor(found.ref).wake()


async def _one_by_one(runtime: Keeper, refs: list[SessionRef]) -> None:
    """Each suspect alone until it made progress, rests, or lived long enough."""
    try:
        for ref in refs:
            actor = runtime.actor(ref)
            turn = runtime.tasks.start(_alone(runtime, ref), f"alone {ref.agent}/{ref.key}")
            deadline = runtime.clock.monotonic() + PATIENCE_ALONE
            while not turn.done() and runtime.clock.monotonic() < deadline:
                attempt = actor.attempt
                if attempt is not None and attempt.progressed.is_set():
                    break
                await asyncio.sleep(0.01)
    finally:
        runtime.gate.open()


async def _alone(runtime: Keeper, ref: SessionRef) -> None:
    actor = runtime.actor(ref)
    try:
        with contextlib.suppress(StoreUnavailableError):
            await actor.take_turn(alone=True)
    finally:
        actor.quarantined = False
        actor.wake()


# -- ever after ------------------------------------------------------------------------------------------
async def ticks(runtime: Keeper) -> None:
    """Deadlines often; expiry, orphans and the heartbeat every second. A failed sweep is repeated."""
    last_sweep = runtime.clock.monotonic()
    while True:
        await asyncio.sleep(TICK)
        _end_overdue(runtime)
        if runtime.shared:
            await _obey_cancels(runtime)
        if runtime.clock.monotonic() - last_sweep >= SWEEP_EVERY:
            last_sweep = runtime.clock.monotonic()
            await _sweep(runtime)


def _end_overdue(runtime: Keeper) -> None:
    for actor in runtime.actors():
        attempt = actor.attempt
        if attempt is not None and attempt.ignores_cancel():
            runtime.tasks.run(actor.overrule(), f"overrule {attempt.turn_id}")
        if attempt is not None and (deadline := attempt.overdue()) is not None:
            attempt.stop(TimedOut(deadline))


async def _obey_cancels(runtime: Keeper) -> None:
    """Requests that another process committed."""
    for actor in runtime.actors():
        attempt = actor.attempt
        if attempt is None:
            continue
        with contextlib.suppress(StoreUnavailableError):
            record = await runtime.store.turn(actor.world.ref, attempt.turn_id)
            if record is not None and record.cancel is not None:
                attempt.stop(Cancelled(record.cancel))


async def _sweep(runtime: Keeper) -> None:
    try:
        await runtime.store.beat(runtime.owner)
        await _expire(runtime)
        for found in await runtime.store.backlog(lease(runtime)):
            if mine(runtime, found):
                runtime.actor(found.ref).wake()
        if runtime.clock.monotonic() >= runtime.problem_until:
            runtime.problem = None
    except StoreUnavailableError as error:
        runtime.store_failed(error)
    except Exception:
        log.exception("a sweep failed and will be repeated")


async def _expire(runtime: Keeper) -> None:
    now = runtime.clock.now()
    for ref, request in await runtime.store.due(now):
        if ref.agent not in runtime.agents:
            continue
        try:
            await _expire_one(runtime, ref, request, now)
        except StoreUnavailableError:
            raise
        except Exception:  # one bad row must not hold up the others
            log.exception("request %s could not be expired", request.id)


async def _expire_one(
    runtime: Keeper, ref: SessionRef, request: RequestRecord, now: Millis
) -> None:
    ask = Ask(turn_id=request.turn_id, request=request.id)
    decide = partial(decide_expiry, ref=ref, now=now)
    outcome = await runtime.store.amend(ref, ask, decide)
    if outcome is not None:
        await runtime.publish(ref, outcome.events)
        actor = runtime.actor(ref)
        actor.live.add(request.turn_id)
        actor.wake()
