"""Work that may never come back, in a thread of its own: it takes none of those that others share, and the
process ends without it."""

from __future__ import annotations

import asyncio
import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, cast

__all__ = ["apart"]

T = TypeVar("T")


class _GivenUp(BaseException):
    """Raised in work that nobody waits for any more."""


class _Breakable:
    """Where a thread is broken off: inside, and nowhere else. Before and behind it the thread holds locks of
    ``threading``, and once it has ended its number may be another one's."""

    def __init__(self) -> None:
        self._door = threading.Lock()
        self._within: int | None = None
        self._given_up = False

    def __enter__(self) -> None:
        with self._door:
            if self._given_up:
                raise _GivenUp
            self._within = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        with self._door:
            self._within = None

    def break_off(self) -> None:
        """A wait in C goes on, and costs nothing; a loop would take its share of the interpreter for ever."""
        with self._door:
            self._given_up = True
            if self._within is not None:
                thread, given_up = ctypes.c_ulong(self._within), ctypes.py_object(_GivenUp)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, given_up)


async def apart(
    work: Callable[[], T],
    name: str,
    *,
    ended: Callable[[], object] = lambda: None,
    gives_up: bool = False,
) -> T:
    """What ``work`` returns, or raises. ``ended`` is told on the loop when its thread is done, however late.

    ``gives_up``: once nobody waits any more, it is broken off at its next step in Python. Only for what may
    stop anywhere, since it holds nothing.
    """
    loop = asyncio.get_running_loop()
    came: asyncio.Future[tuple[T | None, BaseException | None]] = loop.create_future()

    def tell(made: T | None, error: BaseException | None) -> None:
        ended()
        if not came.done():
            came.set_result((made, error))

    inside = _Breakable()

    def run() -> None:
        made, failed = None, None
        try:
            with inside:
                made = work()
        except BaseException as error:  # noqa: BLE001 - whoever waits says what became of it
            failed = error
        with suppress(RuntimeError):  # the process has stopped meanwhile
            loop.call_soon_threadsafe(tell, made, failed)

    threading.Thread(target=run, name=name, daemon=True).start()
    try:
        made, failed = await came
    except asyncio.CancelledError:
        if gives_up:
            inside.break_off()
        raise
    if failed is not None:
        raise failed
    return cast("T", made)
