"""An agent's schedules, for whoever looks at them or has one run: the API, the pages, the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from channels.protocol import REPLY
from gateway.definition.author import Schedule
from gateway.engine.errors import NotFoundError
from gateway.engine.kinds import OPEN_STATES, Json, JsonObject, Millis, SessionRef, TurnRow
from gateway.engine.ledger import OccurrenceRow
from gateway.engine.runtime import Runtime
from gateway.outbox.listing import delivery_json
from gateway.schedules.fire import Fired, Firing, Room, run_once
from gateway.schedules.plan import ScheduleState, next_run, paused, resumed
from gateway.schedules.quiet import kept_quiet
from gateway.schedules.state import change, read
from gateway.schedules.words import told

SETTLED = 500
"""Ticks that are kept in memory."""


class Book:
    """``schedules`` may be replaced by others, as an author saves them."""

    def __init__(
        self, runtime: Runtime, agent: str, schedules: Mapping[str, Schedule], room: Room
    ) -> None:
        self.runtime = runtime
        self.agent = agent
        self.schedules = schedules
        self.room = room
        self._ledger = runtime.store.ledger
        self._settled: dict[TurnRow, JsonObject] = {}

    def schedule(self, name: str) -> Schedule:
        """Raises ``NotFoundError``."""
        found = self.schedules.get(name)
        if found is None:
            known = ", ".join(sorted(self.schedules)) or "none; write agent/schedules/<name>.md"
            raise NotFoundError(f"no schedule {name!r}", fix=f"schedules here: {known}")
        return found

    # -- doing ---------------------------------------------------------------------------------
    async def run(self, name: str, by: str) -> Fired | None:
        """Fire it now, whatever the clock says. ``None``: it had nothing to ask.

        Raises as ``run_once`` does; what fails here is its caller's to hear, and no alert.
        """
        schedule = self.schedule(name)
        now = self.runtime.clock.now()
        firing = Firing(agent=self.agent, name=name, schedule=schedule, due=now, by=by)
        fired = await run_once(self.room, self.runtime, firing)
        held = (await read(self._ledger, self.agent, name)).state
        if held is not None and held.problem is not None:
            await self._change(name, partial(_mended, schedule=schedule, now=now))
        return fired

    async def pause(self, name: str, by: str) -> None:
        schedule, now = self.schedule(name), self.runtime.clock.now()
        await self._change(name, lambda held: paused(schedule, held, by, now))

    async def resume(self, name: str) -> None:
        schedule, now = self.schedule(name), self.runtime.clock.now()
        await self._change(name, lambda held: resumed(schedule, held, now))

    # -- looking -------------------------------------------------------------------------------
    async def rows(self) -> list[JsonObject]:
        """Each schedule with its state and what came of it last, by name."""
        return [await self.row(name) for name in sorted(self.schedules)]

    async def row(self, name: str) -> JsonObject:
        """Raises ``NotFoundError``."""
        schedule, now = self.schedule(name), self.runtime.clock.now()
        state = (await read(self._ledger, self.agent, name)).state
        last = await self.history(name, 1)
        still = state is not None and state.paused_by is not None
        return {
            "name": name,
            "agent": self.agent,
            "cron": schedule.cron,
            "told": told(schedule.cron),
            "timezone": schedule.timezone,
            "target": None if schedule.target is None else str(schedule.target),
            "missed": schedule.missed,
            "within": round(schedule.within.total_seconds()),
            "next": None if still else next_run(schedule, _after(state, now)),
            "paused_by": state.paused_by if state else None,
            "paused_at": state.paused_at if state else None,
            "problem": state.problem if state else None,
            "problem_at": state.problem_at if state else None,
            "last": last[0] if last else None,
        }

    async def history(self, name: str, limit: int = 50) -> list[Json]:
        """What came of its ticks, the latest due first."""
        rows = await self._ledger.occurrences(self.agent, name, limit)
        return [await self._told(row) for row in rows]

    async def lag(self) -> tuple[float, list[tuple[str, str]]]:
        """Seconds since the oldest tick that nobody has dealt with was due, and what keeps which
        schedules from working."""
        now, oldest = self.runtime.clock.now(), 0
        failing: list[tuple[str, str]] = []
        for name, schedule in sorted(self.schedules.items()):
            state = (await read(self._ledger, self.agent, name)).state
            if state is None:
                continue
            if state.problem is not None:
                failing.append((name, state.problem))
            if state.paused_by is None:
                oldest = max(oldest, now - next_run(schedule, state.seen))
        return oldest / 1000, failing

    async def _told(self, row: OccurrenceRow) -> JsonObject:
        """What came of one tick. Pages ask for the same ones again and again, so what can't change any
        more is read once."""
        if row.turn is not None and row.turn_id is not None and row.turn in self._settled:
            return self._settled[row.turn]
        made = await self._read(row)
        if row.turn is not None and _settled(made):
            self._settled[row.turn] = made
            if len(self._settled) > SETTLED:
                del self._settled[next(iter(self._settled))]
        return made

    async def _read(self, row: OccurrenceRow) -> JsonObject:
        made: JsonObject = {
            "due": row.due,
            "outcome": row.outcome,
            "by": row.by,
            "why": row.why,
            "at": row.at,
            "session": row.session,
            "turn_id": row.turn_id,
            "state": None,
            "quiet": None,
            "delivery": None,
        }
        if row.session is None or row.turn_id is None:
            return made
        ref = SessionRef(row.agent, row.session)
        turn = await self.runtime.store.turn(ref, row.turn_id)
        if turn is not None:
            made["state"] = turn.state
            made["quiet"] = await kept_quiet(self.runtime.store, ref, turn)
        for view in await self._ledger.deliveries(turn_id=row.turn_id):
            if view.turn == row.turn and view.part == REPLY:
                made["delivery"] = delivery_json(view)
        return made

    async def _change(
        self, name: str, made: Callable[[ScheduleState | None], ScheduleState]
    ) -> None:
        await change(self._ledger, self.agent, name, made)


def _settled(told: JsonObject) -> bool:
    """The turn has ended, and its reply is where it goes, or goes nowhere."""
    view = told["delivery"]
    shown = not isinstance(view, dict) or view["state"] in {"done", "silent"}
    return told["state"] not in {None, *OPEN_STATES} and shown


def _after(state: ScheduleState | None, now: Millis) -> Millis:
    return now if state is None else max(now, state.seen)


def _mended(held: ScheduleState | None, schedule: Schedule, now: Millis) -> ScheduleState:
    state = held or resumed(schedule, None, now)
    return replace(state, problem=None, problem_at=None)
