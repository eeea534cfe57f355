"""What is due of a schedule: which ticks fire, which are passed over and why. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from zoneinfo import ZoneInfo

from gateway.definition.author import Schedule
from gateway.engine.kinds import Millis
from gateway.schedules.cron import Cron

ON_TIME = Millis(60_000)
"""A tick this fresh is on time: no schedule is finer, and a busy host wakes a moment later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleState:
    """What is kept of a schedule between its ticks."""

    line: str
    """The cron and zone it was planned by: a changed schedule starts from now."""
    seen: Millis
    """Every tick up to here was dealt with. It never goes back, whatever the clock does."""
    paused_by: str | None = None
    paused_at: Millis | None = None
    problem: str | None = None
    """Why it last failed; ``None`` again once it works."""
    problem_at: Millis | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    due: Millis
    late: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A tick, or a row of them from ``due`` to ``last``, that nothing comes of."""

    due: Millis
    last: Millis
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """``fire`` in order; ``state`` is to be kept once all of it was done; ``wake`` is the next tick."""

    fire: tuple[Tick, ...] = ()
    skip: tuple[Skipped, ...] = ()
    state: ScheduleState
    wake: Millis


def line_of(schedule: Schedule) -> str:
    return f"{' '.join(schedule.cron.split())} {schedule.timezone}"


def next_run(schedule: Schedule, after: Millis) -> Millis:
    return Cron.parse(schedule.cron).next(ZoneInfo(schedule.timezone), after)


def paused(schedule: Schedule, state: ScheduleState | None, by: str, now: Millis) -> ScheduleState:
    return replace(_current(schedule, state, now), paused_by=by, paused_at=now)


def resumed(schedule: Schedule, state: ScheduleState | None, now: Millis) -> ScheduleState:
    """From now on: what came due while it was paused isn't caught up. A clock that once was far ahead
    is forgotten, too: no tick has two outcomes, whatever this says."""
    state = _current(schedule, state, now)
    return replace(state, paused_by=None, paused_at=None, seen=now)


def due(
    schedule: Schedule, state: ScheduleState | None, now: Millis, since: Millis | None = None
) -> Plan:
    """What to do at ``now`` by who has this schedule ``since`` then. A clock that was set back has
    nothing to do until it is past ``seen``."""
    # During a deploy another host keeps the state by another line: what came due here is due for that.
    state = _current(schedule, state, now if since is None else min(since, now))
    cron, zone = Cron.parse(schedule.cron), ZoneInfo(schedule.timezone)
    wake = cron.next(zone, max(now, state.seen))
    oldest = cron.next(zone, state.seen)
    if oldest > now:
        return Plan(state=state, wake=wake)
    edge = max(state.seen, Millis(now - _window(schedule) - 1))
    near = tuple(cron.ticks(zone, edge, now))
    seen = near[-1] if near else edge
    state = replace(state, seen=seen)
    if state.paused_by is not None:
        slept = Skipped(due=oldest, last=seen, why=f"paused by {state.paused_by}")
        return Plan(skip=(slept,), state=state, wake=wake)
    too_old: tuple[Skipped, ...] = ()
    if oldest <= edge:
        too_old = (Skipped(due=oldest, last=edge, why=f"{_MISSED}, longer ago than its window"),)
    timely = tuple(tick for tick in near if now - tick <= ON_TIME)
    fire, skip = _by_rule(schedule, near[: len(near) - len(timely)], timely)
    ticks = tuple(Tick(due=tick, late=now - tick > ON_TIME) for tick in fire)
    return Plan(fire=ticks, skip=(*too_old, *skip), state=state, wake=wake)


MOST_AT_ONCE = 100
"""Missed ticks that are caught up: a line of every minute would begin thousands of turns in a row."""
_MISSED = "missed: no host ran"


def _by_rule(
    schedule: Schedule, late: tuple[Millis, ...], timely: tuple[Millis, ...]
) -> tuple[tuple[Millis, ...], tuple[Skipped, ...]]:
    """What fires of the ticks inside the window, and what is passed over."""
    if schedule.missed == "all":
        most = max(0, len(late) - MOST_AT_ONCE)
        why = f"{_MISSED}, and only the latest {MOST_AT_ONCE} are caught up"
        return (*late[most:], *timely), _run(late[:most], why)
    if schedule.missed == "skip":
        return timely, _run(late, f"{_MISSED}, and its rule is skip")
    kept = timely or late[-1:]
    passed = (*late, *timely)[: -len(kept)]
    return kept, _run(passed, f"{_MISSED}, and a later tick stands for it")


def _run(ticks: tuple[Millis, ...], why: str) -> tuple[Skipped, ...]:
    return (Skipped(due=ticks[0], last=ticks[-1], why=why),) if ticks else ()


def _current(schedule: Schedule, state: ScheduleState | None, since: Millis) -> ScheduleState:
    line = line_of(schedule)
    if state is None:
        return ScheduleState(line=line, seen=since)
    if state.line == line:
        return state
    seen = max(state.seen, since)
    return replace(state, line=line, seen=seen, problem=None, problem_at=None)


def _window(schedule: Schedule) -> int:
    return max(ON_TIME, int(schedule.within.total_seconds() * 1000))
