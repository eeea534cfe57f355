"""A clock that runs faster, for everything that waits for the outside world at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from gateway.engine.kinds import Millis
from gateway.engine.limits import Clock


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
