"""Time that runs as fast as whoever waits for it: it moves on whenever nobody has anything to do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from typing_extensions import override

from gateway.engine.kinds import Millis
from gateway.engine.limits import Clock
from gateway.testing.slack import VirtualTime

START = Millis(1_700_000_000_000)
ROUNDS = 40


class FastTime(VirtualTime):
    """A ``Waits`` and a ``Clock`` on virtual time; ``running()`` keeps it going."""

    def __init__(self) -> None:
        super().__init__(START)

    @asynccontextmanager
    async def timeout(self, seconds: float) -> AsyncGenerator[None, None]:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(None) as scope:
            alarm = self.call_at(self.monotonic() + seconds, lambda: scope.reschedule(loop.time()))
            try:
                yield
            finally:
                alarm.cancel()

    @override
    async def _settle(self) -> None:
        """Until nobody is ready to run, or only who looks at the clock again and again: rounds in which
        nothing happens were most of the work."""
        loop: Any = asyncio.get_running_loop()
        for _ in range(ROUNDS):
            await asyncio.sleep(0)
            if not loop._ready:
                return

    @property
    def clock(self) -> Clock:
        return Clock(now=self.now, monotonic=self.monotonic)

    @asynccontextmanager
    async def running(self, step: float = 0.25) -> AsyncGenerator[None, None]:
        async def run() -> None:
            while True:
                await self.advance(step)

        async with asyncio.TaskGroup() as tasks:
            moving = tasks.create_task(run())
            try:
                yield
            finally:
                moving.cancel()
