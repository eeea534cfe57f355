"""Clocks for everything that waits for the outside world at once: one that runs faster, one that leaps."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from typing_extensions import override

from gateway.engine.kinds import Millis
from gateway.engine.limits import Clock
from gateway.values import duration


class ScaledTime:
    """``speed`` seconds pass in one. An emulator, an outbox and a channel that share it agree about every
    deadline between them: it is a ``Waits``, has a ``clock``, and does as an emulator's time."""

    def __init__(self, speed: float = 50.0, start: Millis | None = None) -> None:
        self.speed = speed
        self._began = time.monotonic()
        self._start = Millis(time.time_ns() // 1_000_000) if start is None else start

    def now(self) -> Millis:
        return Millis(self._start + round(self.monotonic() * 1000))

    def monotonic(self) -> float:
        return (time.monotonic() - self._began) * self.speed

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self.speed)

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        return asyncio.timeout(seconds / self.speed)

    def call_at(self, when: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        wait = max(0.0, when - self.monotonic()) / self.speed
        return asyncio.get_running_loop().call_later(wait, callback)

    @property
    def clock(self) -> Clock:
        return Clock(now=self.now, monotonic=self.monotonic)


class FakeClock(ScaledTime):
    """Goes like any clock, and leaps when it is told to: ``clock.tick("2d")``.

    Whoever sleeps, and whatever is due, wakes when the time has come; a ``timeout`` counts what passes
    for everybody, so that a leap doesn't cut what is under way.
    """

    def __init__(self, start: Millis | None = None) -> None:
        super().__init__(1.0, start)
        self._leapt = 0.0
        self._wake = asyncio.Event()
        self.on_tick: list[Callable[[], object]] = []
        """Told after each leap."""

    @override
    def monotonic(self) -> float:
        return super().monotonic() + self._leapt

    @override
    async def sleep(self, seconds: float) -> None:
        until = self.monotonic() + seconds
        await asyncio.sleep(0)
        while (left := until - self.monotonic()) > 0:
            try:
                async with asyncio.timeout(left):
                    await self._wake.wait()
            except TimeoutError:
                pass

    def tick(self, span: str | float) -> None:
        """Leap: ``"90s"``, ``"5m"``, ``"1h"``, ``"2d"``, or seconds."""
        self._leapt += duration(span) if isinstance(span, str) else span
        self._wake.set()
        self._wake = asyncio.Event()
        for tell in self.on_tick:
            tell()
