"""A seed function may fail in any way, or never come back: its schedule says so, and nothing else stops."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime

import pytest

from gateway.definition.author import Schedule, SeedFunction
from gateway.engine.kinds import Millis
from gateway.engine.ports import SessionStore
from gateway.schedules import seeding
from tests.unit.host.world import until
from tests.unit.schedules.house import NINE, House, house

MINUTE = 60_000


def by(seed: SeedFunction) -> Schedule:
    return Schedule(cron="* * * * *", seed=seed)


async def tick(here: House, number: int) -> tuple[str, str]:
    here.leap_to(Millis(NINE + number * MINUTE))
    await here.look()
    return (await here.outcomes())[-1]


@pytest.mark.parametrize(
    "error",
    [asyncio.CancelledError, SystemExit, TimeoutError, StopIteration, KeyError],
)
async def test_whatever_it_raises_is_its_failure(
    store: SessionStore, error: type[BaseException]
) -> None:
    def seed(*, at: datetime, services: object) -> str:
        raise error

    async with house(store, {"digest": by(seed)}) as here:
        await here.look()
        outcome, why = await tick(here, 0)
        assert outcome == "failed"
        assert why in {
            f"its seed function raised {error.__name__}",
            "its seed function raised RuntimeError",  # what Python makes of StopIteration
        }


async def test_so_it_is_where_the_function_is_async(store: SessionStore) -> None:
    async def seed(*, at: datetime, services: object) -> str:
        raise asyncio.CancelledError

    async with house(store, {"digest": by(seed)}) as here:
        await here.look()
        why = "its seed function raised CancelledError"
        assert await tick(here, 0) == ("failed", why)


async def test_one_that_hangs_is_left_alone_until_it_comes_back(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seeding, "SEED_SECONDS", 0.05)
    gate, threads = threading.Event(), threading.active_count()

    def seed(*, at: datetime, services: object) -> str:
        gate.wait()
        return "good morning"

    async with house(store, {"digest": by(seed)}) as here:
        await here.look()
        try:
            _, why = await tick(here, 0)
            assert "took longer" in why
            for number in range(1, 4):
                _, why = await tick(here, number)
                assert "still hangs" in why
            assert threading.active_count() == threads + 1
        finally:
            gate.set()
        await until(lambda: threading.active_count() == threads)
        monkeypatch.undo()
        assert await tick(here, 4) == ("fired", "")


async def test_one_that_comes_back_as_it_is_given_up_hangs_no_more() -> None:
    loop, at = asyncio.get_running_loop(), datetime(2026, 1, 1, tzinfo=UTC)
    given_up: list[threading.Thread] = []

    def seed(*, at: datetime, services: object) -> str:
        if not given_up:
            given_up.append(threading.current_thread())
            loop.call_soon_threadsafe(give_up)
        return "good morning"

    def give_up() -> None:
        while given_up[0].is_alive():
            pass
        # Behind what the thread came with, and before anybody looks at it.
        loop.call_soon(asking.cancel)

    asking = loop.create_task(seeding.asked(seed, at, None))
    await asyncio.wait([asking])
    assert asking.cancelled()
    assert await seeding.asked(seed, at, None) == "good morning"
