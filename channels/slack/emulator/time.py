"""The clock that every life and limit in the emulator is measured by.

``RealTime`` for a person who plays with it. ``VirtualTime`` stands still until somebody moves it, so
that a stream's five minutes or a retry after an hour cost a test nothing. Any object with these four
methods will do, for instance one that an outbox under test runs on too.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from typing import Protocol

from gateway.engine.kinds import Millis

SETTLING = 20
"""Rounds of the loop that woken tasks get before time moves on."""


def fresh_ids() -> int:
    """A number that no emulator before this one has reached: milliseconds, and none has an event in each."""
    return time.time_ns() // 1_000_000


class Timer(Protocol):
    def cancel(self) -> None: ...


class Time(Protocol):
    def now(self) -> Millis: ...

    def monotonic(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Call back when ``monotonic()`` has reached ``when``."""
        ...


class RealTime:
    def now(self) -> Millis:
        return Millis(time.time_ns() // 1_000_000)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(max(0.0, when - time.monotonic()), callback)


class _Alarm:
    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self._callback = None

    def ring(self) -> None:
        if self._callback is not None:
            self._callback()


class VirtualTime:
    """Moves only by ``advance``. What is due on the way happens in order, each at its own moment.

    It begins at the present unless told otherwise: an app that checks signatures by its own clock must
    find them fresh.
    """

    def __init__(self, start: Millis | None = None) -> None:
        self._start = Millis(time.time_ns() // 1_000_000) if start is None else start
        self._passed = 0.0
        self._alarms: list[tuple[float, int, _Alarm]] = []
        self._order = itertools.count()

    def now(self) -> Millis:
        return Millis(self._start + round(self._passed * 1000))

    def monotonic(self) -> float:
        return self._passed

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.Event()
        alarm = self.call_at(self._passed + seconds, woken.set)
        try:
            await woken.wait()
        finally:
            alarm.cancel()

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        alarm = _Alarm(callback)
        heapq.heappush(self._alarms, (when, next(self._order), alarm))
        return alarm

    async def advance(self, seconds: float) -> None:
        until = self._passed + seconds
        await self._settle()
        while self._alarms and self._alarms[0][0] <= until:
            when, _, alarm = heapq.heappop(self._alarms)
            self._passed = max(self._passed, when)
            alarm.ring()
            await self._settle()
        self._passed = until
        await self._settle()

    async def _settle(self) -> None:
        for _ in range(SETTLING):
            await asyncio.sleep(0)
