"""Time that stands still until it is moved, and the real one behind the same four methods."""

from __future__ import annotations

import asyncio

import pytest

from channels.slack.emulator import RealTime, VirtualTime
from gateway.engine.kinds import Millis


async def test_what_is_due_happens_in_order_and_at_its_moment() -> None:
    time = VirtualTime(Millis(1_000))
    seen: list[tuple[str, float]] = []
    for name, when in (("b", 2.0), ("a", 1.0), ("c", 2.0), ("late", 9.0)):
        time.call_at(when, lambda name=name: seen.append((name, time.monotonic())))  # type: ignore[misc]
    await time.advance(5)
    assert seen == [("a", 1.0), ("b", 2.0), ("c", 2.0)]
    assert (time.now(), time.monotonic()) == (6_000, 5.0)


async def test_sleepers_wake_and_may_sleep_again_on_the_way() -> None:
    time = VirtualTime()
    woke: list[float] = []

    async def sleeper() -> None:
        for _ in range(3):
            await time.sleep(10)
            woke.append(time.monotonic())

    async with asyncio.TaskGroup() as group:
        group.create_task(sleeper())
        await time.advance(30)
    assert woke == [10, 20, 30]


async def test_a_cancelled_alarm_stays_silent() -> None:
    time = VirtualTime()
    seen: list[int] = []
    time.call_at(1.0, lambda: seen.append(1)).cancel()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await time.sleep(1)
    await time.advance(2)
    assert seen == []


async def test_a_moment_in_the_past_is_now() -> None:
    time = VirtualTime()
    await time.sleep(0)
    await time.sleep(-1)
    seen: list[float] = []
    await time.advance(5)
    time.call_at(1.0, lambda: seen.append(time.monotonic()))
    await time.advance(0)
    assert seen == [5.0]


async def test_the_real_one() -> None:
    time = RealTime()
    before, at = time.monotonic(), time.now()
    rang = asyncio.Event()
    time.call_at(before + 0.01, rang.set)
    await time.sleep(0.02)
    assert rang.is_set()
    assert time.monotonic() - before >= 0.02
    assert 0 <= time.now() - at < 10_000
