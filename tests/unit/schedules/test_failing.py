"""A schedule that fails is told of once, where its result would have been read, and holds up no other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import cast

import pytest

from gateway.engine.agent import TurnError
from gateway.engine.ports import SessionStore
from gateway.outbox.reference import reference_of
from gateway.schedules.fire import Room
from gateway.stores.memory import MemoryStore
from tests.support.stores import EACH, opened
from tests.unit.host.world import until
from tests.unit.schedules.house import DIGEST, NINE, at, house

TUESDAY = at("2026-12-01T09:00")


@pytest.fixture(params=EACH)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SessionStore]:
    """Each of them, open and empty."""
    async with opened(request, tmp_path) as made:
        yield made


@pytest.fixture
async def memory() -> AsyncIterator[SessionStore]:
    """For what no store has a say in."""
    made = MemoryStore()
    await made.open()
    yield made
    await made.close()


async def test_one_that_fails_alerts_once_and_the_others_go_on(
    store: SessionStore, caplog: pytest.LogCaptureFixture
) -> None:
    broken = True

    def seed(*, at: datetime, services: object) -> str:
        if broken:
            raise RuntimeError("secret: the shop's password")
        return "good morning"

    pair = {"bad": replace(DIGEST, seed=seed), "good": DIGEST}
    why = "its seed function raised RuntimeError"
    heard: list[TurnError] = []
    caplog.set_level(logging.INFO, "gateway.schedules")
    async with house(store, pair, runs=True) as here:
        june = here.runtime.agents["june"]
        here.runtime.agents = {"june": replace(june, on_turn_error=heard.append)}
        await here.known(2)
        for number, day in enumerate(("2026-11-30", "2026-12-01"), 1):
            here.leap_to(at(f"{day}T09:00:01"))
            await here.ticked(2 * number)
            await here.shows_all("you said: good morning", times=number)
        assert await here.outcomes("bad") == [("failed", why)] * 2
        first, second = await here.ticks("bad")
        assert (second.turn_id, first.session) == (None, "cron:bad:2026-11-30T09:00+01:00")
        turn_id = str(first.turn_id)
        who, ref = "Whoever looks after me finds why under this reference", reference_of(turn_id)
        await here.shows_all(f"The schedule `bad` failed. {who}: {ref}", times=1)
        assert [(one.turn_id, one.session) for one in heard] == [(turn_id, first.session)]
        session = here.session(str(first.session))
        result = await session.result(turn_id)
        assert (result.status, result.error) == ("failed", {"message": why})
        assert await session.transcript() == []
        alerts = [row for row in caplog.records if row.levelno >= logging.ERROR]
        assert [row.getMessage() for row in alerts] == [
            f"schedule bad fails: {why}; try it: gateway schedules run bad"
        ]
        async with asyncio.timeout(10):
            while (await here.book.row("bad"))["problem"] != why:
                await asyncio.sleep(0.01)
        assert (await here.book.row("good"))["problem"] is None
        assert (await here.book.lag())[1] == [("bad", why)]
        broken = False
        here.leap_to(at("2026-12-02T09:00:01"))
        await here.shows_all("you said: good morning", times=4)
        await until(lambda: "schedule bad works again" in caplog.messages)
        async with asyncio.timeout(10):
            while (await here.state("bad")).problem is not None:
                await asyncio.sleep(0.01)


@pytest.mark.parametrize("made", ["", "  \n", 7])
async def test_a_seed_that_is_no_text_is_a_failure(memory: SessionStore, made: object) -> None:
    def seed(*, at: datetime, services: object) -> str:
        return made  # type: ignore[return-value]

    async with house(memory, {"digest": replace(DIGEST, seed=seed)}) as here:
        await here.look()
        here.leap_to(NINE)
        await here.look()
        ((outcome, why),) = await here.outcomes()
        assert outcome == "failed"
        assert "returned no text" in why


async def test_a_channel_that_is_not_there_is_a_failure_until_it_is(memory: SessionStore) -> None:
    async with house(memory, channels=False) as here:
        await here.look()
        here.leap_to(NINE)
        await here.look()
        ((outcome, why),) = await here.outcomes()
        assert outcome == "failed"
        assert "no channel that could deliver" in why
        (listed,) = await memory.list_turns(state="failed")
        assert (listed.ref.key, await memory.ledger.deliveries()) == (
            "cron:digest:2026-11-30T09:00+01:00",
            [],
        )
        state = await here.state()
        assert (state.problem, state.problem_at) == (why, state.problem_at)
    async with house(memory, now=at("2026-12-01T08:59:59")) as here:
        here.leap_to(TUESDAY)
        await here.look()
        state = await here.state()
        assert (state.problem, state.problem_at) == (None, None)
        await here.shows("you said: good morning")


async def test_a_fault_of_ours_is_an_outcome_too(memory: SessionStore) -> None:
    async with house(memory) as here:
        await here.look()
        here.leap_to(NINE)
        here.book.room = cast("Room", None)
        assert await here.look() == TUESDAY
        assert await here.outcomes() == [("failed", "AttributeError")]


async def test_where_no_turn_can_be_kept_the_outcome_is(memory: SessionStore) -> None:
    name = "x" * 600  # of which no session's key can be made
    async with house(memory, {name: DIGEST}) as here:
        await here.look(name)
        here.leap_to(NINE)
        assert await here.look(name) == TUESDAY
        ((outcome, why),) = await here.outcomes(name)
        assert (outcome, why.startswith("session must be")) == ("failed", True)
        assert await here.turns() == []
