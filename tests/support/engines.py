"""One engine's line to a store that it shares with others."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from typing_extensions import override

from gateway.engine.ports import SessionStore
from gateway.engine.records import Fence, LocalCall, Writes
from gateway.testing.crash import CrashingStore


class Link(CrashingStore):
    """Dies at a chosen write, and can freeze: then what an attempt writes waits before it is sent,
    and the heartbeat with it. With ``fenced=False`` the store is asked to let every attempt pass."""

    def __init__(self, inner: SessionStore, at: int | None = None, *, fenced: bool = True) -> None:
        super().__init__(inner, at)
        self.capabilities = replace(inner.capabilities, shared=True)
        self.frozen = asyncio.Event()
        """A write waits."""
        self.accepted = 0
        """Writes of attempts that the store took."""
        self._thawed = asyncio.Event()
        self._thawed.set()
        self._fenced = fenced

    def freeze(self) -> None:
        self._thawed.clear()

    def thaw(self) -> None:
        self._thawed.set()
        self.frozen.clear()

    def crash_in(self, points: int) -> None:
        """Die at the write point that is this many points away."""
        self.at = len(self.survived) + points

    async def _wait(self) -> None:
        if not self._thawed.is_set():
            self.frozen.set()
            await self._thawed.wait()

    async def _right(self, fence: Fence) -> Fence:
        if self._fenced:
            return fence
        for found in await self.inner.list_sessions():
            if found.row.id == fence.session:
                return Fence(fence.session, found.row.epoch)
        return fence

    @override
    async def commit(self, fence: Fence, writes: Writes) -> None:
        await self._wait()
        await super().commit(await self._right(fence), writes)
        self.accepted += 1

    @override
    async def run_local(self, fence: Fence, call: LocalCall) -> None:
        await self._wait()
        await super().run_local(await self._right(fence), call)
        self.accepted += 1

    @override
    async def beat(self, owner: str) -> None:
        await self._wait()
        await super().beat(owner)
