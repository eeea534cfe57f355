"""How many turns run at once, and when one has the process to itself."""

from __future__ import annotations

import asyncio


class Gate:
    """Turns run beside each other, up to a limit, while the gate is open. Turns that are suspected
    of killing the process run first, one by one, with the gate closed."""

    def __init__(self, limit: int) -> None:
        self._slots = asyncio.Semaphore(limit)
        self._open = asyncio.Event()
        self._open.set()
        self.waiting = 0
        """Sessions whose next turn waits for a place."""
        self.behind = 0
        """Turns that wait behind another one of their session. Those behind a park aren't counted:
        it is a person they wait for, and they hold nothing here."""

    @property
    def queued(self) -> int:
        """All turns that wait for this host."""
        return self.waiting + self.behind

    async def enter(self) -> None:
        """Wait for a place among the turns that run; ``leave`` gives it back."""
        self.waiting += 1
        try:
            await self._open.wait()
            await self._slots.acquire()
        finally:
            self.waiting -= 1

    async def enter_now(self) -> bool:
        """Take a place if there is one at once."""
        if self._slots.locked() or not self._open.is_set():
            return False
        await self._slots.acquire()
        return True

    def leave(self) -> None:
        self._slots.release()

    def close(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()
