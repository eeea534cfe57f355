"""One thread for one connection: what may wait there, one thing after another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

__all__ = ["Worker"]

T = TypeVar("T")


class Worker:
    """Real seconds, since a thread knows no others."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)

    async def do(self, work: Callable[[], T], within: float) -> T:
        """Raises ``TimeoutError`` when the thread isn't back in time. It is at its work still: whoever
        asked has to disturb it."""
        async with asyncio.timeout(within):
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    async def last(self, work: Callable[[], object], within: float) -> None:
        """The same for what must come to pass: the thread does it when it gets there, however late that is
        and whoever has stopped waiting."""
        self._pool.submit(work)
        await self.do(_nothing, within)

    async def end(self, patience: float) -> None:
        """The thread ends, at the latest with what it is doing now; that is waited for so long."""
        try:
            with suppress(TimeoutError):
                await self.do(_nothing, patience)
        finally:
            self._pool.shutdown(wait=False)


def _nothing() -> None:
    return
