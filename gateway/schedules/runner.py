"""Fires an agent's schedules as they come due, each in a task of its own: one that fails or hangs holds
up no other.

Every host runs this, once for each time that an agent is mounted. Whoever finds something due takes that
schedule's lease, so that its seed function needn't run on all of them; that the tick has one turn is the
store's promise, whatever becomes of the lease. The state is kept behind the ticks it speaks of: who dies in
between leaves ticks that are seen to have an outcome.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from gateway.definition.author import Schedule
from gateway.engine.errors import (
    BusyError,
    DuplicateClaimError,
    GatewayError,
    StoreUnavailableError,
    told,
)
from gateway.engine.kinds import Millis, SessionRef
from gateway.engine.limits import Waits
from gateway.engine.records import Companion
from gateway.schedules.book import Book
from gateway.schedules.fire import Firing, kept, run_failed, run_once
from gateway.schedules.plan import Plan, ScheduleState, Skipped, due
from gateway.schedules.state import Kept, keep, read

log = logging.getLogger("gateway.schedules")

LOOK_SECONDS = 15.0
"""The wall clock and what is kept are looked at this often: a clock may leap, a machine may sleep, and
somebody may resume what a leap had put off."""
AGAIN_SECONDS = 2.0
"""Before another try, where the store is away, the host is full, or another host is at it."""
LEASE = Millis(30_000)
LATEST = 50
"""Ticks that are looked through first for what came of one of them."""


class Runner:
    def __init__(self, book: Book, waits: Waits) -> None:
        self._book = book
        self._runtime = book.runtime
        self._ledger = book.runtime.store.ledger
        self._owner = f"schedules-{secrets.token_hex(8)}"
        self._waits = waits
        self._changed = asyncio.Event()
        self._since = self._runtime.clock.now()

    def take(self, schedules: Mapping[str, Schedule]) -> None:
        """Go on with these schedules instead: one that is new or changed starts from now."""
        self._book.schedules, self._since = schedules, self._runtime.clock.now()
        self._changed.set()

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            self._changed.clear()
            async with asyncio.TaskGroup() as tasks:
                running = [
                    tasks.create_task(self._keep(name, schedule), name=f"schedule {name}")
                    for name, schedule in self._book.schedules.items()
                ]
                await self._changed.wait()
                for one in running:
                    one.cancel()

    async def _keep(self, name: str, schedule: Schedule) -> None:
        while True:
            wake: Millis | None = None
            try:
                wake = await self.look(name, schedule)
            except (StoreUnavailableError, BusyError) as error:
                log.warning("schedule %s can't be seen to now: %s", name, error)
            except Exception:
                log.exception("schedule %s can't be seen to", name)
            if wake is None:
                await self._waits.sleep(AGAIN_SECONDS)
                continue
            left = (wake - self._runtime.clock.now()) / 1000
            await self._waits.sleep(min(max(left, 0.0), LOOK_SECONDS))

    async def look(self, name: str, schedule: Schedule) -> Millis | None:
        """Do what is due of one schedule. When it is due next; ``None``: look again soon.

        Raises ``StoreUnavailableError`` and ``BusyError``, with everything due that was.
        """
        held, plan = await self._plan(name, schedule)
        if not plan.fire and not plan.skip:
            return await self._save(name, plan.state, held, plan.wake)
        lease = f"schedule:{self._book.agent}:{name}"
        if not await self._ledger.hold(lease, self._owner, LEASE):
            return None
        try:
            held, plan = await self._plan(name, schedule)  # who held it before may have done all
            return await self._act(name, schedule, held, plan)
        finally:
            await self._ledger.let_go(lease, self._owner)

    async def _plan(self, name: str, schedule: Schedule) -> tuple[Kept, Plan]:
        held = await read(self._ledger, self._book.agent, name)
        return held, due(schedule, held.state, self._runtime.clock.now(), self._since)

    async def _save(
        self, name: str, state: ScheduleState, held: Kept, wake: Millis
    ) -> Millis | None:
        if state == held.state or await keep(self._ledger, self._book.agent, name, state, held):
            return wake
        return None

    # -- what is due -----------------------------------------------------------------------------
    async def _act(self, name: str, schedule: Schedule, held: Kept, plan: Plan) -> Millis | None:
        state, done = plan.state, None
        for passed in plan.skip:
            with suppress(DuplicateClaimError):  # it has an outcome already
                await self._ledger.note([self._skipped(name, schedule, passed)])
        for tick in plan.fire:
            firing = Firing(
                agent=self._book.agent,
                name=name,
                schedule=schedule,
                due=tick.due,
                by=f"cron:{name}",
                late=tick.late,
            )
            try:
                problem = await self._fire(firing, state.problem)
            except BusyError:
                if done is not None:  # a long row is taken up where there was no more room
                    await self._save(name, replace(state, seen=done), held, plan.wake)
                raise
            done = tick.due
            if problem != state.problem:
                at = None if problem is None else self._runtime.clock.now()
                state = replace(state, problem=problem, problem_at=at)
        return await self._save(name, state, held, plan.wake)

    async def _fire(self, firing: Firing, before: str | None) -> str | None:
        """Why it failed, if it did; ``before`` is why the tick before it did, which was said then."""
        try:
            fired = await run_once(self._book.room, self._runtime, firing)
        except DuplicateClaimError:
            # Another host was quicker, or this one before it died.
            return await self._came_of(firing)
        except (StoreUnavailableError, BusyError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told, and the others go on
            return await self._failed(firing, error, before)
        if fired is not None:
            log.info("schedule %s fired", firing.name, extra={"turn_id": fired.turn_id})
        if before is not None:
            log.info("schedule %s works again", firing.name)
        return None

    async def _failed(self, firing: Firing, error: Exception, before: str | None) -> str | None:
        """The first time in a row it is told where its result would have been; another reason is logged."""
        why, name = told(error), firing.name
        try:
            if before is not None or not await self._told(firing, error, why):
                await self._ledger.note([kept(firing, "failed", self._runtime.clock.now(), why)])
        except DuplicateClaimError:
            return await self._came_of(firing)
        if why != before:
            said = "schedule %s fails: %s; try it: gateway schedules run %s"
            cause = error.__cause__ if isinstance(error, GatewayError) else error
            log.error(said, name, why, name, exc_info=cause)
        return why

    async def _told(self, firing: Firing, error: Exception, why: str) -> bool:
        """``False`` where not even a turn that failed can be kept, for the reason that none could begin."""
        runtime = self._runtime
        try:
            failed = await run_failed(self._book.room, runtime, firing, why)
        except (DuplicateClaimError, StoreUnavailableError, BusyError):
            raise
        except Exception:  # noqa: BLE001 - or the tick would have no outcome, and all after it wait
            return False
        ref = SessionRef(firing.agent, failed.session)
        record = await runtime.store.turn(ref, failed.turn_id)
        if record is not None and runtime.agents[firing.agent].on_turn_error is not None:
            await runtime.report_failure(runtime.actor(ref).world, record, error)
        return True

    async def _came_of(self, firing: Firing) -> str | None:
        """Why a tick failed that has an outcome already; ``None`` if it didn't."""
        limit = LATEST
        rows = await self._ledger.occurrences(firing.agent, firing.name, limit)
        while len(rows) == limit and rows[-1].due > firing.due:  # it was due before all of these
            limit *= 4
            rows = await self._ledger.occurrences(firing.agent, firing.name, limit)
        failed = (row.why for row in rows if row.due == firing.due and row.outcome == "failed")
        return next(failed, None)

    def _skipped(self, name: str, schedule: Schedule, passed: Skipped) -> Companion:
        firing = Firing(
            agent=self._book.agent, name=name, schedule=schedule, due=passed.due, by=f"cron:{name}"
        )
        log.info("schedule %s passed over: %s", name, passed.why)
        return kept(firing, "skipped", self._runtime.clock.now(), passed.why)
