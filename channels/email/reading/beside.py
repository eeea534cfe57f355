"""Mails are read beside each other, but for one that may have ended the process before: it is read alone, so
that what dies with it the next time is counted for it, and for none of those that happened to be read then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

__all__ = ["Beside"]


class Beside:
    def __init__(self) -> None:
        self._door = asyncio.Lock()
        self._empty = asyncio.Event()
        self._reading = 0

    @asynccontextmanager
    async def others(self) -> AsyncGenerator[None]:
        """Until somebody is done who reads alone, and then with everybody."""
        async with self._door:
            self._reading += 1
        try:
            yield
        finally:
            self._reading -= 1
            if not self._reading:
                self._empty.set()

    @asynccontextmanager
    async def nobody(self) -> AsyncGenerator[None]:
        """Once all are done who read; who comes meanwhile waits."""
        async with self._door:
            while self._reading:
                self._empty.clear()
                await self._empty.wait()
            yield
