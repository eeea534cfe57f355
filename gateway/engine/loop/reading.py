"""What a turn's event wants read from its platform before the turn begins.

It is read outside every lock and place, so that a slow platform holds nobody else up, and before the
opening message is kept: a process that dies in between reads it again, one that dies later never.
"""

from __future__ import annotations

import asyncio
import logging

from gateway.engine.decisions.preparing import Unprepared
from gateway.engine.loop.home import Home
from gateway.engine.messages import Text
from gateway.engine.ports import PREPARE_SECONDS, Prepared, Preparer, Preparing
from gateway.engine.steps.foreign import contained

log = logging.getLogger("gateway.engine")

UNREAD = Prepared(before=(Text("[The earlier conversation could not be read.]"),))
"""What the model is told in its place."""


class Reading:
    """Of one session's next turn: what it wants read, and what was found."""

    def __init__(self, runtime: Home) -> None:
        self._runtime = runtime
        self._wanted: Unprepared | None = None
        self._under_way: tuple[str, asyncio.Task[None]] | None = None
        self.found: dict[str, Prepared] = {}
        """By turn; the next attempt to begin uses it up."""

    @property
    def wanted(self) -> bool:
        return self._wanted is not None

    def want(self, asked: Unprepared) -> None:
        self._wanted = asked

    async def read(self) -> None:
        """Read what is wanted, for ``PREPARE_SECONDS`` at most, or until its turn is dropped."""
        asked, self._wanted = self._wanted, None
        if asked is None:
            return
        turn_id = asked.asked.turn_id
        read: list[Prepared] = []
        work = _ask(self._runtime.preparers[asked.source], asked.asked, read)
        task = self._runtime.tasks.start(work, f"reading for {turn_id}")
        self._under_way = (turn_id, task)
        try:
            _, late = await asyncio.wait({task}, timeout=PREPARE_SECONDS)
        finally:
            self._under_way = None
            task.cancel()
        if late:
            log.warning("what turn %s wants read took over %g s", turn_id, PREPARE_SECONDS)
        self.found = {turn_id: read[0] if read else UNREAD}

    def drop(self, turn_id: str) -> None:
        """The turn ended before it began: nobody waits for it any more."""
        if self._under_way is not None and self._under_way[0] == turn_id:
            self._under_way[1].cancel()


async def _ask(preparer: Preparer, asked: Preparing, read: list[Prepared]) -> None:
    try:
        with contained:
            read.append(await preparer.prepare(asked))
    except Exception as error:  # noqa: BLE001 - the turn goes on without; its words may be anybody's
        why = type(error).__name__
        log.warning("what turn %s wants read could not be read: %s", asked.turn_id, why)
