"""Schedules fire when they are due, once, whatever the clock, the store or the author's code does."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from gateway.definition.author import Schedule
from gateway.engine.errors import BusyError
from gateway.engine.kinds import Millis
from gateway.engine.ports import SessionStore
from gateway.schedules.runner import Runner
from tests.conformance.engine.kit import until
from tests.unit.schedules.house import DIGEST, NINE, at, house

SESSION = "cron:digest:2026-11-30T09:00+01:00"
TUESDAY = at("2026-12-01T09:00")


async def test_a_tick_becomes_one_turn_that_its_channel_shows(store: SessionStore) -> None:
    async with house(store) as here:
        assert await here.look() == NINE
        assert await here.ticks() == []
        here.leap_to(NINE)
        assert await here.look() == TUESDAY
        await here.shows("you said: good morning")
        (tick,) = await here.ticks()
        assert (tick.due, tick.outcome, tick.by, tick.why) == (NINE, "fired", "cron:digest", "")
        assert tick.session == SESSION
        (summary,) = await store.list_turns()
        assert (summary.turn.row, summary.turn.turn_id) == (tick.turn, tick.turn_id)
        assert summary.turn.source == "echo"
        (opening,) = (await here.session(SESSION).transcript())[:1]
        assert (opening.role, opening.by) == ("trigger", "cron:digest")
        state = await here.state()
        assert state.seen == NINE
        assert await here.look() == TUESDAY
        assert len(await here.ticks()) == 1


async def test_without_a_target_nobody_is_shown_it(store: SessionStore) -> None:
    async with house(store, {"digest": replace(DIGEST, target=None)}, channels=False) as here:
        await here.look()
        here.leap_to(NINE)
        await here.look()
        (summary,) = await store.list_turns()
        assert (summary.turn.source, summary.ref.key) == ("cron", SESSION)
        await here.session(SESSION).result(summary.turn.turn_id)
        assert await store.ledger.deliveries() == []


async def test_it_runs_by_itself_also_where_there_is_no_channel(store: SessionStore) -> None:
    lone = {"digest": replace(DIGEST, target=None)}
    async with house(store, lone, channels=False, runs=True) as here:
        await here.known(1)
        here.leap_to(Millis(NINE + 1))
        await here.ticked(1)
        assert await here.turns() == [SESSION]


async def test_a_late_one_says_so_to_the_agent(store: SessionStore) -> None:
    async with house(store) as here:
        await here.look()
        here.leap_to(at("2026-11-30T09:20"))
        await here.look()
        assert await here.outcomes() == [("fired", "late by 20 min")]
        (opening,) = (await here.session(SESSION).transcript())[:1]
        assert '<late due="2026-11-30T09:00+01:00" by="20 min">' in opening.text
        assert opening.text.endswith("</late>\n\ngood morning")


async def test_a_machine_asleep_over_ticks_follows_the_rule(store: SessionStore) -> None:
    hourly = Schedule(cron="0 * * * *", seed="look", within=timedelta(hours=2))
    rules = {rule: replace(hourly, missed=rule) for rule in ("skip", "latest", "all")}
    async with house(store, rules) as here:
        for rule in rules:
            await here.look(rule)
        here.leap_to(at("2026-11-30T13:30"))
        for rule in rules:
            await here.look(rule)
        said = {rule: [row.outcome for row in await here.ticks(rule)] for rule in rules}
        assert said == {
            "skip": ["skipped", "skipped"],
            "latest": ["skipped", "skipped", "fired"],
            "all": ["skipped", "fired", "fired"],
        }
        (row,) = [row for row in await here.ticks("latest") if row.outcome == "fired"]
        assert row.due == at("2026-11-30T13:00")


async def test_a_clock_that_is_set_back_fires_nothing_twice(store: SessionStore) -> None:
    async with house(store, now=NINE) as here:
        await here.look()
        here.leap_to(TUESDAY)
        await here.look()
    async with house(store, now=at("2026-11-30T08:00")) as here:
        assert await here.look() == at("2026-12-02T09:00")
        here.leap_to(TUESDAY)
        await here.look()
        assert [row.due for row in await here.ticks()] == [TUESDAY]
        state = await here.state()
        assert state.seen == TUESDAY


async def test_one_that_a_clock_far_ahead_put_off_is_resumed(store: SessionStore) -> None:
    lone = {"digest": replace(DIGEST, target=None)}
    async with house(store, lone, now=at("2027-11-30T08:00"), channels=False) as here:
        await here.look()
    async with house(store, lone, channels=False, runs=True) as here:
        for _ in range(50):  # the runner has looked, and sleeps
            await asyncio.sleep(0)
        await here.book.resume("digest")
        here.leap_to(Millis(NINE + 20_000))  # it looks at the clock every 15 s
        await here.ticked(1)
        assert await here.turns() == [SESSION]


async def test_a_paused_one_passes_its_ticks_over(store: SessionStore) -> None:
    async with house(store) as here:
        await here.look()
        await here.book.pause("digest", "cli:ada")
        assert (await here.book.row("digest"))["next"] is None
        here.leap_to(NINE)
        await here.look()
        assert await here.outcomes() == [("skipped", "paused by cli:ada")]
        here.leap_to(at("2026-11-30T12:00"))
        await here.book.resume("digest")
        assert await here.look() == TUESDAY
        assert await here.turns() == []
        here.leap_to(TUESDAY)
        await here.look()
        assert len(await here.turns()) == 1


async def test_a_pause_that_comes_while_it_fires_is_kept(store: SessionStore) -> None:
    async def slow(*, at: datetime, services: object) -> str:
        await here.book.pause("digest", "cli:ada")
        return "good morning"

    async with house(store, {"digest": replace(DIGEST, seed=slow)}) as here:
        await here.look()
        here.leap_to(NINE)
        assert await here.look() is None, "what is kept is looked at again"
        assert await here.look() == TUESDAY
        state = await here.state()
        assert (state.paused_by, state.seen) == ("cli:ada", NINE)
        assert [row.outcome for row in await here.ticks()] == ["fired"]


# -- seeds that are functions ------------------------------------------------------------------------
async def test_a_seed_function_is_told_when_it_was_due(store: SessionStore) -> None:
    asked: list[tuple[datetime, object]] = []

    def seed(*, at: datetime, services: object) -> str | None:
        asked.append((at, services))
        return None if len(asked) == 1 else "two orders wait"

    async with house(store, {"digest": replace(DIGEST, seed=seed)}) as here:
        await here.look()
        here.leap_to(NINE)
        await here.look()
        here.leap_to(TUESDAY)
        await here.look()
        await here.shows("you said: two orders wait")
        assert await here.outcomes() == [("skipped", "nothing to ask"), ("fired", "")]
        assert [at.isoformat() for at, _ in asked] == [
            "2026-11-30T09:00:00+01:00",
            "2026-12-01T09:00:00+01:00",
        ]
        assert asked[0][1] is here.runtime.agents["june"].services


async def test_a_host_that_is_full_fires_it_once_there_is_room(store: SessionStore) -> None:
    async with house(store) as here:
        await here.look()
        here.leap_to(NINE)
        limits = here.runtime.limits
        here.runtime.limits = replace(limits, queue_per_host=0)
        with pytest.raises(BusyError):
            await here.look()
        assert await here.ticks() == []
        here.runtime.limits = limits
        await here.look()
        assert await here.outcomes() == [("fired", "")]


async def test_a_host_that_fills_up_in_a_long_row_goes_on_where_it_stopped(
    store: SessionStore,
) -> None:
    asked: list[int] = []

    async def seed(*, at: datetime, services: object) -> str:
        asked.append(at.hour)
        if len(asked) == 2:
            here.runtime.limits = replace(here.runtime.limits, queue_per_host=0)
        return "look"

    row = Schedule(cron="0 * * * *", seed=seed, missed="all", within=timedelta(hours=9))
    async with house(store, {"digest": row}) as here:
        await here.look()
        limits = here.runtime.limits
        here.leap_to(at("2026-11-30T11:30"))
        with pytest.raises(BusyError):
            await here.look()
        here.runtime.limits = limits
        await here.look()
        assert asked == [8, 9, 9, 10], "in UTC"
        assert [outcome for outcome, _ in await here.outcomes()] == ["fired"] * 3


# -- several hosts ---------------------------------------------------------------------------------
async def test_of_two_hosts_one_fires(store: SessionStore) -> None:
    asked: list[datetime] = []

    def seed(*, at: datetime, services: object) -> str:
        asked.append(at)
        return "good morning"

    schedules = {"digest": replace(DIGEST, seed=seed)}
    async with house(store, schedules) as one, house(store, schedules) as two:
        await one.look()
        for here in (one, two):
            here.leap_to(NINE)
        async with asyncio.TaskGroup() as tasks:
            looks = [tasks.create_task(here.look()) for here in (one, two)]
        assert sorted(look.result() or 0 for look in looks) == [0, TUESDAY]
        assert await two.look() == TUESDAY
        assert await one.look() == TUESDAY
        assert len(asked) == 1
        assert await one.turns() == [SESSION]


async def test_an_agent_that_is_mounted_twice_asks_once(store: SessionStore) -> None:
    asked: list[datetime] = []
    answered = asyncio.Event()

    async def seed(*, at: datetime, services: object) -> str:
        asked.append(at)
        if len(asked) == 1:
            await answered.wait()
        return "good morning"

    async with house(store, {"digest": replace(DIGEST, seed=seed)}) as here:
        again = Runner(here.book, here.time)
        await here.look()
        here.leap_to(NINE)
        async with asyncio.TaskGroup() as tasks:
            first = tasks.create_task(here.look())
            await until(lambda: bool(asked))
            second = await again.look("digest", here.book.schedules["digest"])
            answered.set()
        assert (second, first.result(), len(asked)) == (None, TUESDAY, 1)
        assert await here.turns() == [SESSION]


async def test_two_hosts_with_different_lines_fire_each_their_own(store: SessionStore) -> None:
    later = {"digest": replace(DIGEST, cron="5 9 * * 1-5")}
    async with house(store) as old, house(store, later) as new:
        for here in (old, new):
            await here.look()
        for day in ("2026-11-30", "2026-12-01"):
            for here, time in ((old, "09:00"), (new, "09:05")):
                old.leap_to(at(f"{day}T{time}"))
                new.leap_to(at(f"{day}T{time}"))
                await here.look()
        assert await old.outcomes() == [("fired", "")] * 4


async def test_the_lease_of_one_that_died_lapses(store: SessionStore) -> None:
    async with house(store) as here:
        await here.look()
        here.leap_to(NINE)
        await store.ledger.hold("schedule:june:digest", "dead", Millis(60_000))
        assert await here.look() is None
        assert await here.ticks() == []
        await store.ledger.let_go("schedule:june:digest", "dead")
        assert await here.look() == TUESDAY
        assert await here.outcomes() == [("fired", "")]


# -- by hand, and as an author saves -----------------------------------------------------------------
async def test_one_is_run_by_hand(store: SessionStore) -> None:
    async with house(store) as here:
        await here.look()
        fired = await here.book.run("digest", "cli:ada")
        assert fired is not None
        await here.shows("you said: good morning")
        row = await here.book.row("digest")
        assert row["next"] == NINE
        last = row["last"]
        assert isinstance(last, dict)
        assert (last["by"], last["turn_id"]) == ("cli:ada", fired.turn_id)
        assert last["session"] == fired.session
        assert isinstance(last["delivery"], dict)
        here.leap_to(NINE)
        await here.look()
        assert [tick.by for tick in await here.ticks()] == ["cli:ada", "cron:digest"]


async def test_what_works_by_hand_is_mended(store: SessionStore) -> None:
    broken = True

    def seed(*, at: datetime, services: object) -> str:
        if broken:
            raise RuntimeError
        return "good morning"

    async with house(store, {"digest": replace(DIGEST, seed=seed)}) as here:
        await here.look()
        here.leap_to(NINE)
        await here.look()
        assert (await here.book.row("digest"))["problem"] is not None
        broken = False
        await here.book.run("digest", "cli:ada")
        row = await here.book.row("digest")
        assert (row["problem"], row["problem_at"], row["next"]) == (None, None, TUESDAY)


async def test_what_an_author_saves_is_taken_up(store: SessionStore) -> None:
    async with house(store, {"old": replace(DIGEST, target=None)}, runs=True) as here:
        await here.known(1)
        here.runner.take({"new": replace(DIGEST, target=None, cron="5 9 * * *")})
        await here.known(2)
        here.leap_to(at("2026-11-30T09:05:01"))
        await here.ticked(1)
        assert [row.schedule for row in await here.ticks()] == ["new"]


async def test_lag_is_told(store: SessionStore) -> None:
    async with house(store) as here:
        assert await here.book.lag() == (0.0, [])
        await here.look()
        assert (await here.book.lag())[0] == 0.0
        here.leap_to(at("2026-11-30T09:10"))
        assert (await here.book.lag())[0] >= 600
