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

    def run() -> None:
        made, failed = None, None
        try:
            made = work()
        except BaseException as error:  # noqa: BLE001 - whoever waits says what became of it
            failed = error
        with suppress(RuntimeError):  # the process has stopped meanwhile
            loop.call_soon_threadsafe(tell, made, failed)

    def main() -> None:
        with suppress(_GivenUp):  # also where it comes when the work is just done
            run()

    thread = threading.Thread(target=main, name=name, daemon=True)
    thread.start()
    try:
        made, failed = await came
    except asyncio.CancelledError:
        if gives_up:
            _break_off(thread)
        raise
    if failed is not None:
        raise failed
    return cast("T", made)


def _break_off(thread: threading.Thread) -> None:
    """A wait in C goes on, and costs nothing; a loop would take its share of the interpreter for ever."""
    if thread.ident is not None and thread.is_alive():
        given_up = ctypes.py_object(_GivenUp)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), given_up)
