"""What makes the runtime come back by itself: picking up at start, and the ticks after it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from functools import partial

from gateway.engine.decisions.attempts import accompany, blame_running, must_run_alone
from gateway.engine.decisions.park import decide_expiry
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.kinds import Millis, SessionRef
from gateway.engine.loop.actor import Actor
from gateway.engine.loop.keeper import Keeper
from gateway.engine.records import Ask, OpenSession, RequestRecord, TurnRecord
from gateway.engine.steps.attempt import Attempt
from gateway.engine.steps.foreign import contained
from gateway.engine.steps.signals import Cancelled, TimedOut
from gateway.engine.struct import replace

log = logging.getLogger("gateway.engine")

TICK = 0.25
SWEEP_EVERY = 1.0
FIRST_HOLD = 5.0
"""Seconds that a suspect has the process to itself if it makes no progress. A call that kills the
process mostly does so at once, and everything else waits meanwhile."""
LONGER = 4
"""How many times longer it has after each death beside others that came all the same: a slow killer
is found out in the end."""
CLEARING = 5.0
"""Seconds to wait for the store to note that a suspect is no longer alone."""


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
    alone: dict[SessionRef, float] = {}
    for ref in suspects:
        decide = partial(blame_running, owner=runtime.owner, only=len(suspects) == 1)
        blamed = await runtime.store.amend(ref, Ask(head=True, tail=True), decide)
        if blamed is not None and must_run_alone(blamed):
            alone[ref] = hold_for(blamed)
    if alone:
        for ref in alone:
            runtime.actor(ref).quarantined = True
        runtime.gate.close()
        runtime.tasks.run(_one_by_one(runtime, alone), "turns that run alone")
    for found in backlog:
        runtime.actor(found.ref).wake()


def hold_for(record: TurnRecord) -> float:
    """Seconds that a suspect may hold up everything else."""
    return FIRST_HOLD * float(LONGER ** max(0, record.suspect - 2))


async def _one_by_one(runtime: Keeper, holds: Mapping[SessionRef, float]) -> None:
    """Each suspect alone until it made progress, rests, or lived long enough."""
    try:
        for ref, hold in holds.items():
            turn = runtime.tasks.start(_alone(runtime, ref), f"alone {ref.agent}/{ref.key}")
            deadline = runtime.clock.monotonic() + hold
            while not turn.done() and not _progressed(runtime, ref):
                if runtime.clock.monotonic() >= deadline:
                    await _accompany(runtime, ref)
                    break
                await asyncio.sleep(0.01)
    finally:
        runtime.gate.open()


def _progressed(runtime: Keeper, ref: SessionRef) -> bool:
    attempt = runtime.actor(ref).attempt
    return attempt is not None and attempt.progressed.is_set()


async def _accompany(runtime: Keeper, ref: SessionRef) -> None:
    """Note that the attempt is no longer alone, before others are: should one of them kill the
    process, it must not count as this one's doing."""
    attempt = runtime.actor(ref).attempt
    if attempt is None:
        return
    attempt.record = replace(attempt.record, alone=False)
    decide = partial(accompany, fence=attempt.fence)
    with contextlib.suppress(StoreUnavailableError, TimeoutError):
        async with asyncio.timeout(CLEARING):
            await runtime.store.amend(ref, Ask(turn_id=attempt.turn_id), decide)


async def _alone(runtime: Keeper, ref: SessionRef) -> None:
    actor = runtime.actor(ref)
    try:
        with contextlib.suppress(Exception), contained:  # its driver meets that again, and tells
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
            await sweep(runtime)


def _end_overdue(runtime: Keeper) -> None:
    for actor in runtime.actors():
        attempt = actor.attempt
        if attempt is not None and attempt.ignores_cancel():
            runtime.tasks.run(_overrule(runtime, actor, attempt), f"overrule {attempt.turn_id}")
        if attempt is not None and (deadline := attempt.overdue()) is not None:
            attempt.stop(TimedOut(deadline))


async def _overrule(runtime: Keeper, actor: Actor, attempt: Attempt) -> None:
    try:
        await actor.overrule(attempt.turn_id)
    except StoreUnavailableError as error:
        runtime.store_failed(error)
        if attempt.driven:  # the next tick tries again
            actor.attempt, attempt.overruled = attempt, False


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


async def sweep(runtime: Keeper) -> None:
    """What the clock and other processes have changed since the last time."""
    try:
        await runtime.store.beat(runtime.owner)
        await _expire(runtime)
        for found in await runtime.store.backlog(lease(runtime)):
            # One that drives looks for more by itself; told to look again, it would ask for nothing
            # and be in the way of the next turn's acceptance.
            if mine(runtime, found) and (actor := runtime.actor(found.ref)).driver is None:
                actor.wake()
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
