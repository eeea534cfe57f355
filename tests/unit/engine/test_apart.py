"""Work in a thread of its own, which is broken off where it works and nowhere else."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator

import pytest

from gateway.engine.steps.apart import apart


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads give way at every step, so that many places are met."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("restless")
async def test_a_thread_is_never_broken_off_on_its_way_in_or_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    went_wrong: list[object] = []
    monkeypatch.setattr(threading, "excepthook", went_wrong.append)
    monkeypatch.setattr(sys, "unraisablehook", went_wrong.append)
    for _ in range(1500):
        work = asyncio.get_running_loop().create_task(apart(int, "brief", gives_up=True))
        await asyncio.sleep(0)
        work.cancel()
        await asyncio.wait([work])
    async with asyncio.timeout(10):
        while any(one.name == "brief" for one in threading.enumerate()):
            await asyncio.sleep(0.001)
    assert went_wrong == []


async def test_work_that_nobody_waits_for_ends_in_a_loop_of_its_own() -> None:
    began, over = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def work() -> None:
        loop.call_soon_threadsafe(began.set)
        while True:
            pass

    waiting = loop.create_task(apart(work, "endless", ended=over.set, gives_up=True))
    async with asyncio.timeout(10):
        await began.wait()
        waiting.cancel()
        await over.wait()
