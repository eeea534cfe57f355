"""How many turns run at once, and when one has the process to itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class Gate:
    """Turns run beside each other, up to a limit, while the gate is open. Turns that are suspected
    of killing the process run first, one by one, with the gate closed."""

    def __init__(self, limit: int) -> None:
        self._slots = asyncio.Semaphore(limit)
        self._open = asyncio.Event()
        self._open.set()
        self.waiting = 0

    @asynccontextmanager
    async def beside(self) -> AsyncGenerator[None]:
        self.waiting += 1
        try:
            await self._open.wait()
            await self._slots.acquire()
        finally:
            self.waiting -= 1
        try:
            yield
        finally:
            self._slots.release()

    def close(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()
