"""A process that writes steps to a SQLite store until it dies. Run by ``test_sqlite_kill.py``.

``python -m tests.crash.sqlite_worker <file> <how>``; a line ``<session> <index>`` says that a step
was acknowledged. ``how``: ``run`` works until killed, ``before`` dies at the first COMMIT of a step,
``after`` dies when that COMMIT has returned and nobody has been told.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from contextvars import Context
from pathlib import Path
from typing import TypeVar

from typing_extensions import TypeVarTuple, override

from gateway.engine.kinds import SessionRef
from gateway.engine.records import Fence, SqlHandle, TurnRecord
from gateway.stores.sqlite import SqliteStore
from tests.conformance.store_kit import Tool, begin, model_step, query, with_handle

SESSIONS = 8
Arguments = TypeVarTuple("Arguments")
Loop = TypeVar("Loop", bound=asyncio.AbstractEventLoop)


class DyingLoop(asyncio.SelectorEventLoop):
    """Dies when a thread wants to tell it something, once ``armed``."""

    armed = False

    @override
    def call_soon_threadsafe(
        self,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.Handle:
        if self.armed:
            die()
        return super().call_soon_threadsafe(callback, *args, context=context)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at_commit(statement: str) -> None:
    if statement == "COMMIT":
        die()


def ref(session: int) -> SessionRef:
    return SessionRef("june", f"s{session}")


async def work(path: Path, how: str) -> None:
    store = SqliteStore(path)
    await store.open()
    sessions = [await begin(store, ref(k)) for k in range(SESSIONS)]
    await query(store, sessions[0][1], "CREATE TABLE orders (session INTEGER, item INTEGER)")
    assert store._opened is not None
    arm(how, store._opened.connection)
    async with asyncio.TaskGroup() as tasks:
        for k, (turn, fence) in enumerate(sessions):
            tasks.create_task(steps(store, k, turn, fence))


def arm(how: str, connection: sqlite3.Connection) -> None:
    loop = asyncio.get_running_loop()
    if how == "before":
        connection.set_trace_callback(die_at_commit)
    elif how == "after" and isinstance(loop, DyingLoop):
        loop.armed = True


async def steps(store: SqliteStore, session: int, turn: TurnRecord, fence: Fence) -> None:
    for index in range(100_000):
        writes = model_step(turn, index, 1 + 3 * index)
        if index % 2:
            await store.run_local(fence, Tool(with_handle(ordering(session, index)), writes).call)
        else:
            await store.commit(fence, writes)
        print(session, index, flush=True)  # noqa: T201 - the parent reads it


def ordering(session: int, index: int) -> Callable[[SqlHandle], object]:
    return lambda handle: handle.execute("INSERT INTO orders VALUES (?, ?)", (session, index))


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=DyingLoop) as runner:
        runner.run(work(Path(sys.argv[1]), sys.argv[2]))
