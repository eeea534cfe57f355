"""The one owner of background tasks: nothing runs that nobody waits for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import TypeVar

from gateway.engine.errors import StoreUnavailableError

T = TypeVar("T")

log = logging.getLogger("gateway.engine")


class Tasks:
    """Owns tasks whose lives don't nest in one ``async with`` block.

    A task that fails is logged and forgotten: one session's failure must not end another's.
    ``close`` cancels what is left and waits until it ended, ``patience`` seconds at most.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def run(self, work: Coroutine[object, object, None], name: str) -> None:
        """Start work that nobody waits for but this owner."""
        _ = self.start(work, name)

    def start(self, work: Coroutine[object, object, None], name: str) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("task %s failed", task.get_name(), exc_info=error)

    async def to_the_end(self, work: Coroutine[object, object, T], name: str) -> T:
        """Run work to its end, whether or not who waits for it here stays."""
        outcome: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        async def run() -> None:
            try:
                result = await work
            except asyncio.CancelledError:
                raise
            except BaseException as error:  # noqa: BLE001 - it belongs to who waits
                _settle(outcome, error=error)
            else:
                if not outcome.done():
                    outcome.set_result(result)

        def ended(_: asyncio.Task[None]) -> None:
            # Also of one that was cancelled before its first step: nothing of ``run`` ran then.
            work.close()
            stopping = StoreUnavailableError("this process is stopping", fix="ask again")
            _settle(outcome, error=stopping)

        self.start(run(), name).add_done_callback(ended)
        return await outcome

    async def ended(self, patience: float) -> None:
        """Wait for all that runs now, ``patience`` seconds at most."""
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=patience)

    async def close(self, patience: float) -> None:
        pending = list(self._tasks)
        for task in pending:
            task.cancel()
        if pending:
            _, stubborn = await asyncio.wait(pending, timeout=patience)
            for task in stubborn:
                log.error("task %s did not end when cancelled", task.get_name())


def _settle(outcome: asyncio.Future[T], error: BaseException) -> None:
    if not outcome.done():
        outcome.set_exception(error)
