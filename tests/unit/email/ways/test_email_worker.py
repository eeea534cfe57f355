"""The thread of a connection: what waits there, and what is done however long that takes."""

from __future__ import annotations

import asyncio
import threading

import pytest

from channels.email.ways.worker import Worker

NO_TIME = 0.01
AMPLE = 10.0


async def test_a_thread_that_is_late_still_closes_what_it_had_open() -> None:
    worker, gate, closed = Worker("late"), threading.Event(), threading.Event()
    with pytest.raises(TimeoutError):
        await worker.do(lambda: gate.wait(AMPLE), NO_TIME)
    with pytest.raises(TimeoutError):
        await worker.last(closed.set, NO_TIME)
    await worker.end(NO_TIME)
    gate.set()
    assert await asyncio.to_thread(closed.wait, AMPLE)


async def test_what_nobody_waits_for_any_more_is_not_begun() -> None:
    worker, gate, done = Worker("late"), threading.Event(), list[str]()
    with pytest.raises(TimeoutError):
        await worker.do(lambda: gate.wait(AMPLE), NO_TIME)
    with pytest.raises(TimeoutError):
        await worker.do(lambda: done.append("a search"), NO_TIME)
    gate.set()
    await worker.last(lambda: done.append("the end"), AMPLE)
    await worker.end(AMPLE)
    assert done == ["the end"]
