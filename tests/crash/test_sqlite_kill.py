"""kill -9 at any moment: what was acknowledged is there, and nothing is there in half."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import pytest

from gateway.stores.sqlite import SqliteStore
from tests.conformance.store_kit import PATIENCE, attempt, model_step
from tests.crash.sqlite_rows import whole_steps
from tests.crash.sqlite_worker import SESSIONS, ref

pytestmark = pytest.mark.crash


async def start(path: Path, how: str) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.crash.sqlite_worker", str(path), how, stdout=PIPE
    )


async def acknowledged(process: Process, lines: int | None) -> dict[int, int]:
    """Kill the process after so many lines (``None``: it dies by itself); steps it acknowledged."""
    assert process.stdout is not None
    told = dict.fromkeys(range(SESSIONS), 0)
    read = 0
    async with asyncio.timeout(PATIENCE):
        while (line := await process.stdout.readline()).endswith(b"\n"):
            session, index = map(int, line.split())
            told[session] = max(told[session], index + 1)
            read += 1
            if read == lines:
                os.kill(process.pid, signal.SIGKILL)
        await process.wait()
    assert process.returncode == -signal.SIGKILL
    return told


@pytest.mark.parametrize("seed", range(6))
async def test_killed_at_any_moment(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "june.db"
    process = await start(path, "run")
    told = await acknowledged(process, random.Random(seed).randrange(1, 400))  # noqa: S311 - repeats
    found = await asyncio.to_thread(whole_steps, path)
    assert all(found[k] >= told[k] for k in told)
    # At most the step that each session had under way is there without having been acknowledged.
    assert all(found[k] <= told[k] + 1 for k in told)
    await goes_on(path, found)


async def test_killed_before_the_commit(tmp_path: Path) -> None:
    path = tmp_path / "june.db"
    told = await acknowledged(await start(path, "before"), None)
    assert sum(told.values()) == 0
    found = await asyncio.to_thread(whole_steps, path)
    assert sum(found.values()) == 0
    await goes_on(path, found)


async def test_killed_between_the_commit_and_the_answer(tmp_path: Path) -> None:
    path = tmp_path / "june.db"
    told = await acknowledged(await start(path, "after"), None)
    assert sum(told.values()) == 0
    found = await asyncio.to_thread(whole_steps, path)
    assert sum(found.values()) >= 1
    await goes_on(path, found)


async def goes_on(path: Path, found: dict[int, int]) -> None:
    """The next process opens the file at once and continues where it ended."""
    store = SqliteStore(path)
    await store.open()
    for session, count in found.items():
        fence = await attempt(store, ref(session), "host-b")
        turn = await store.turn(ref(session), "t1")
        assert turn is not None
        assert turn.last_seq == 3 * count
        if count % 2 == 0:
            await store.commit(fence, model_step(turn, count, turn.last_seq + 1))
    await store.close()
