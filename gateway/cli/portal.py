"""The event loop in a thread of its own, the person in the main thread.

So the prompt may block, Ctrl-C arrives where it is typed, and a turn under way keeps its heartbeat
while somebody thinks about an approval.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
import threading
from collections.abc import AsyncIterator, Coroutine, Generator, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from types import TracebackType
from typing import Generic, Self, TypeVar

T = TypeVar("T")


class Portal:
    """Runs coroutines for a thread that has no loop."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="gateway-cli-loop", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def call(self, work: Coroutine[object, object, T]) -> T:
        """Run to the end and return the result; Ctrl-C cancels the coroutine."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    @contextmanager
    def hold(self, manager: AbstractAsyncContextManager[T]) -> Generator[T]:
        """An async context for the caller's block, entered and left by one task."""
        entered: concurrent.futures.Future[T] = concurrent.futures.Future()
        leave = asyncio.Event()

        async def keep() -> None:
            try:
                async with manager as value:
                    entered.set_result(value)
                    await leave.wait()
            except Exception as error:
                if entered.done():
                    raise
                entered.set_exception(error)

        kept = asyncio.run_coroutine_threadsafe(keep(), self._loop)
        try:
            yield entered.result()
        finally:
            self._loop.call_soon_threadsafe(leave.set)
            if entered.done() and entered.exception() is None:
                kept.result()
            else:
                kept.cancel()

    def stream(self, source: AsyncIterator[T]) -> Stream[T]:
        return Stream(self._loop, source)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            if tasks := asyncio.all_tasks(self._loop):
                for task in tasks:
                    task.cancel()
                self._loop.run_until_complete(asyncio.wait(tasks, timeout=5))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()


class _End:
    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class Stream(Generic[T]):
    """An async iterator, read from outside the loop. Iterating may be interrupted by Ctrl-C and
    taken up again: nothing is lost in between."""

    def __init__(self, loop: asyncio.AbstractEventLoop, source: AsyncIterator[T]) -> None:
        self._items: queue.SimpleQueue[T | _End] = queue.SimpleQueue()
        self._future = asyncio.run_coroutine_threadsafe(self._pump(source), loop)

    async def _pump(self, source: AsyncIterator[T]) -> None:
        try:
            async for item in source:
                self._items.put(item)
        except BaseException as error:
            self._items.put(_End(error))
            raise
        self._items.put(_End(None))

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        item = self._items.get()
        if not isinstance(item, _End):
            return item
        if item.error is None or isinstance(item.error, asyncio.CancelledError):
            raise StopIteration
        raise item.error

    def close(self) -> None:
        self._future.cancel()
