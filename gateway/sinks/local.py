"""Live events for readers of the same process.

A publisher never waits for a reader: each reader has its own bounded queue, and one that falls
behind is cut. It comes back with the cursor of the last durable event it saw.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from gateway.engine.events import TurnEvent
from gateway.engine.kinds import SessionRef

FRAMES = 256
"""How far a reader may fall behind before it is cut."""


class LocalSubscription:
    """One reader's queue. Read by one task at a time."""

    __slots__ = ("_bound", "_closed", "_frames", "_lagged", "_waiter")

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._frames: deque[TurnEvent] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._lagged = False
        self._closed = False

    @property
    def lagged(self) -> bool:
        return self._lagged

    async def next(self, timeout: float) -> TurnEvent | None:
        """The next event, or ``None`` after ``timeout`` seconds of silence or when cut.

        A cancelled wait loses nothing: an event leaves the queue only when it is returned.
        """
        if not self._frames and not self._lagged and not self._closed and timeout > 0:
            await self._wait(timeout)
        return self._frames.popleft() if self._frames else None

    async def _wait(self, timeout: float) -> None:
        if self._waiter is not None:
            raise RuntimeError("a subscription is read by one task at a time")
        loop = asyncio.get_running_loop()
        waiter = self._waiter = loop.create_future()
        alarm = loop.call_later(timeout, _wake, waiter)
        try:
            await waiter
        finally:
            alarm.cancel()
            self._waiter = None

    def push(self, event: TurnEvent) -> None:
        if self._lagged or self._closed:
            return
        if len(self._frames) >= self._bound:
            # What is queued is dropped too: the reader resumes by cursor and gets it from the log,
            # and the memory of a reader that doesn't read is free at once.
            self._lagged = True
            self._frames.clear()
        else:
            self._frames.append(event)
        if self._waiter is not None:
            _wake(self._waiter)

    def close(self) -> None:
        self._closed = True
        self._frames.clear()
        if self._waiter is not None:
            _wake(self._waiter)


class LocalSink:
    """Fan-out within one event loop."""

    seam_version = 1

    def __init__(self, frames: int = FRAMES) -> None:
        if frames < 1:
            raise ValueError(f"a reader's bound must be at least 1 frame, not {frames}")
        self._bound = frames
        self._readers: dict[SessionRef, dict[str, list[LocalSubscription]]] = {}

    async def publish(self, ref: SessionRef, events: Sequence[TurnEvent]) -> None:
        if not self._readers:  # the usual case: nobody watches, and nothing is even hashed
            return
        turns = self._readers.get(ref)
        if turns is None:
            return
        for event in events:
            for reader in turns.get(event.turn_id, ()):
                reader.push(event)

    def subscribe(
        self, ref: SessionRef, turn_id: str
    ) -> AbstractAsyncContextManager[LocalSubscription]:
        return self._subscribe(ref, turn_id)

    @asynccontextmanager
    async def _subscribe(
        self, ref: SessionRef, turn_id: str
    ) -> AsyncGenerator[LocalSubscription, None]:
        reader = LocalSubscription(self._bound)
        turns = self._readers.setdefault(ref, {})
        turns.setdefault(turn_id, []).append(reader)
        try:
            yield reader
        finally:
            reader.close()
            turns[turn_id].remove(reader)
            if not turns[turn_id]:
                del turns[turn_id]
            if not turns:
                del self._readers[ref]

    def watched(self, ref: SessionRef) -> bool:
        return ref in self._readers


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
