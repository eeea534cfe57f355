"""What is due of a schedule: the missed rule, pauses, changes, and a clock that can't be trusted."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.definition.author import Missed, Schedule
from gateway.engine.kinds import Millis
from gateway.schedules.plan import (
    Plan,
    ScheduleState,
    Skipped,
    due,
    line_of,
    next_run,
    paused,
    resumed,
)
from tests.unit.schedules.house import at

DIGEST = Schedule(cron="0 9 * * 1-5", timezone="Europe/Paris", seed="Write the digest.")
HOURLY = Schedule(cron="0 * * * *", seed="Look.", within=timedelta(hours=3))
MISSED = "missed: no host ran"


def utc(text: str) -> Millis:
    return at(text, ZoneInfo("UTC"))


def seen(schedule: Schedule, moment: Millis) -> ScheduleState:
    return ScheduleState(line=line_of(schedule), seen=moment)


def fired(plan: Plan) -> list[tuple[Millis, bool]]:
    return [(tick.due, tick.late) for tick in plan.fire]


def test_a_tick_fires_when_it_is_due_and_not_again() -> None:
    nine, sunday = at("2026-11-30T09:00"), at("2026-11-29T12:00")
    before = due(DIGEST, seen(DIGEST, sunday), Millis(nine - 1))
    assert (before.fire, before.wake, before.state.seen) == ((), nine, sunday)
    plan = due(DIGEST, before.state, Millis(nine + 3))
    assert (fired(plan), plan.skip) == ([(nine, False)], ())
    assert plan.wake == at("2026-12-01T09:00")
    assert due(DIGEST, plan.state, Millis(nine + 4)).fire == ()


def test_a_new_schedule_starts_from_now() -> None:
    now = at("2026-11-30T09:00")
    plan = due(DIGEST, None, now)
    assert (plan.fire, plan.skip, plan.state.seen) == ((), (), now)
    assert plan.wake == at("2026-12-01T09:00")


@pytest.mark.parametrize(
    "changed", [replace(DIGEST, cron="0 8 * * 1-5"), replace(DIGEST, timezone="Europe/Lisbon")]
)
def test_a_changed_one_starts_from_now_too_and_stays_paused(changed: Schedule) -> None:
    now = at("2026-11-30T10:30")
    state = paused(DIGEST, seen(DIGEST, at("2026-11-27T09:00")), "cli:june", at("2026-11-27T10:00"))
    plan = due(changed, replace(state, problem="its channel was off"), now)
    assert (plan.fire, plan.skip, plan.state.seen) == ((), (), now)
    assert (plan.state.paused_by, plan.state.problem) == ("cli:june", None)


def test_the_same_line_written_otherwise_has_not_changed() -> None:
    spaced = replace(DIGEST, cron=" 0  9 * * 1-5 ", seed="Write it shorter.")
    assert fired(due(spaced, seen(DIGEST, at("2026-11-29T12:00")), at("2026-11-30T09:00")))


def test_asleep_over_a_tick_it_comes_late_within_its_window() -> None:
    state, nine = seen(DIGEST, at("2026-11-27T09:00")), at("2026-11-30T09:00")
    assert fired(due(DIGEST, state, at("2026-11-30T09:20"))) == [(nine, True)]
    assert fired(due(DIGEST, state, at("2026-11-30T10:00"))) == [(nine, True)]
    missed = due(DIGEST, state, Millis(at("2026-11-30T10:00") + 1))
    assert missed.fire == ()
    [row] = missed.skip
    assert (row.due, row.why) == (nine, f"{MISSED}, longer ago than its window")
    assert due(DIGEST, missed.state, at("2026-11-30T10:01")).skip == ()


def test_a_minute_is_still_on_time() -> None:
    state, nine = seen(DIGEST, at("2026-11-27T09:00")), at("2026-11-30T09:00")
    strict = replace(DIGEST, missed="skip", within=timedelta(seconds=1))
    assert fired(due(strict, state, at("2026-11-30T09:01"))) == [(nine, False)]
    late = due(strict, state, Millis(at("2026-11-30T09:01") + 1))
    assert (late.fire, len(late.skip)) == ((), 1)


@pytest.mark.parametrize(
    ("rule", "hours", "passed"),
    [
        ("skip", [], [("06", "08", f"{MISSED}, and its rule is skip")]),
        ("latest", ["08"], [("06", "07", f"{MISSED}, and a later tick stands for it")]),
        ("all", ["06", "07", "08"], []),
    ],
)
def test_the_missed_rule(
    rule: Missed, hours: list[str], passed: list[tuple[str, str, str]]
) -> None:
    schedule = replace(HOURLY, missed=rule)
    plan = due(schedule, seen(schedule, utc("2026-11-30T05:00")), utc("2026-11-30T08:30"))
    assert fired(plan) == [(utc(f"2026-11-30T{hour}:00"), True) for hour in hours]
    assert list(plan.skip) == [
        Skipped(due=utc(f"2026-11-30T{a}:00"), last=utc(f"2026-11-30T{b}:00"), why=why)
        for a, b, why in passed
    ]
    assert plan.state.seen == utc("2026-11-30T08:00")


@pytest.mark.parametrize(
    ("rule", "hours"), [("skip", ["09"]), ("latest", ["09"]), ("all", ["07", "08", "09"])]
)
def test_a_tick_on_time_stands_for_those_missed_before_it(rule: Missed, hours: list[str]) -> None:
    schedule = replace(HOURLY, missed=rule)
    plan = due(schedule, seen(schedule, utc("2026-11-30T06:00")), utc("2026-11-30T09:00"))
    assert fired(plan) == [(utc(f"2026-11-30T{hour}:00"), hour != "09") for hour in hours]


def test_years_asleep_are_one_row_and_no_walk_over_every_minute() -> None:
    every = replace(HOURLY, cron="* * * * *", missed="all", within=timedelta(minutes=3))
    plan = due(every, seen(every, utc("1999-12-31T23:59")), utc("2026-11-30T09:00"))
    assert [tick for tick, _ in fired(plan)] == [
        utc(f"2026-11-30T{minute}") for minute in ("08:57", "08:58", "08:59", "09:00")
    ]
    [row] = plan.skip
    assert row.due == utc("2000-01-01T00:00")
    assert row.last < utc("2026-11-30T08:57")


def test_the_clock_set_back_fires_nothing_twice() -> None:
    nine = at("2026-11-30T09:00")
    done = due(DIGEST, seen(DIGEST, at("2026-11-29T12:00")), nine).state
    back = due(DIGEST, done, at("2026-11-30T07:00"))
    assert (back.fire, back.skip, back.state, back.wake) == ((), (), done, at("2026-12-01T09:00"))
    assert due(DIGEST, back.state, nine).fire == ()
    assert fired(due(DIGEST, back.state, at("2026-12-01T09:00"))) == [
        (at("2026-12-01T09:00"), False)
    ]


def test_paused_its_ticks_pass_with_the_reason_and_resumed_they_are_not_caught_up() -> None:
    state = paused(DIGEST, seen(DIGEST, at("2026-11-27T09:00")), "cli:june", at("2026-11-29T12:00"))
    plan = due(DIGEST, state, at("2026-11-30T09:00"))
    nine = at("2026-11-30T09:00")
    assert plan.fire == ()
    assert plan.skip == (Skipped(due=nine, last=nine, why="paused by cli:june"),)
    again = resumed(DIGEST, state, at("2026-11-30T09:20"))
    assert again.paused_by is None
    assert due(DIGEST, again, at("2026-11-30T09:21")).fire == ()
    assert due(DIGEST, again, at("2026-12-01T09:00")).fire


def test_of_thousands_of_missed_ticks_the_latest_hundred_are_caught_up() -> None:
    every = replace(DIGEST, cron="* * * * *", missed="all", within=timedelta(days=2))
    plan = due(every, seen(every, at("2026-11-28T09:00")), at("2026-11-30T09:00"))
    assert (len(plan.fire), plan.fire[-1].due) == (102, at("2026-11-30T09:00"))
    (skipped,) = plan.skip
    assert "only the latest 100 are caught up" in skipped.why


def test_resuming_forgets_a_clock_that_was_far_ahead() -> None:
    """A tick that fired under it has its outcome in the store, and no second one."""
    ahead = seen(DIGEST, at("2031-11-30T09:00"))
    assert due(DIGEST, ahead, at("2026-12-01T09:00")).fire == ()
    again = resumed(DIGEST, ahead, at("2026-11-30T10:00"))
    assert due(DIGEST, again, at("2026-12-01T09:00")).fire


def test_the_next_run_is_local_time_in_summer_and_in_winter() -> None:
    assert next_run(DIGEST, at("2026-10-23T12:00")) == utc("2026-10-26T08:00")
    assert next_run(DIGEST, at("2026-03-27T12:00")) == utc("2026-03-30T07:00")


@given(
    moves=st.lists(st.integers(-5 * 3600, 9 * 3600), min_size=1, max_size=12),
    rule=st.sampled_from(["skip", "latest", "all"]),
    cron=st.sampled_from(["0 * * * *", "*/20 * * * *", "0 9 * * *", "30 2 * * *"]),
)
def test_however_the_clock_moves_no_tick_fires_twice(
    moves: list[int], rule: Missed, cron: str
) -> None:
    schedule = replace(HOURLY, cron=cron, missed=rule, timezone="Europe/Paris")
    now = at("2026-10-24T22:00")
    state = due(schedule, None, now).state
    ticks: list[Millis] = []
    for move in moves:
        now = Millis(now + move * 1000)
        plan = due(schedule, state, now)
        assert plan.state.seen >= state.seen
        assert plan.wake > max(now, plan.state.seen)
        state = plan.state
        ticks += sorted([tick.due for tick in plan.fire] + [row.due for row in plan.skip])
    assert ticks == sorted(set(ticks))
