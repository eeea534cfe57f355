"""A sink that tells the outbox when there may be something to send.

It is told after the commit, and only that it should look: what is lost here is found by its own ticks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

from gateway.engine import events as ev
from gateway.engine.kinds import SessionRef
from gateway.engine.ports import EventSink, Subscription

_TELLING = (
    ev.TurnQueued,
    ev.TurnStarted,
    ev.MessageCompleted,
    ev.InputRequested,
    ev.InputVoted,
    ev.InputAnswered,
)


class WakingSink:
    """Passes everything on, and calls ``wake`` once somebody set it."""

    def __init__(self, inner: EventSink) -> None:
        self.seam_version = inner.seam_version
        self.wake: Callable[[], object] | None = None
        self._inner = inner

    async def publish(self, ref: SessionRef, events: Sequence[ev.TurnEvent]) -> None:
        await self._inner.publish(ref, events)
        if self.wake is not None and any(e.terminal or isinstance(e, _TELLING) for e in events):
            self.wake()

    def subscribe(self, ref: SessionRef, turn_id: str) -> AbstractAsyncContextManager[Subscription]:
        return self._inner.subscribe(ref, turn_id)

    def watched(self, ref: SessionRef) -> bool:
        return self._inner.watched(ref)
