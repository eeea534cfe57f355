"""Real processes, killed and frozen at points drawn by a seed, started again until all turns ended.
What they leave must equal what a process leaves that nobody disturbed."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import sqlite3
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gateway.engine.kinds import SessionRef
from gateway.stores.sqlite import SqliteStore
from tests.crash.engine_worker import DEADLY, SESSIONS
from tests.support.turns import ASYNC_EFFECTS, left_behind

pytestmark = pytest.mark.crash

ROOT = Path(__file__).resolve().parents[2]
LIFE = 60.0
"""Seconds a process may take to its end before the test gives up on it."""


class Worker:
    """One process on the folder's database."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.points: list[str] = []

    @classmethod
    async def start(cls, folder: Path) -> Worker:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.crash.engine_worker", str(folder)),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        return cls(process)

    async def live(self, points: int | None = None, *, freeze: bool = False) -> bool:
        """Let it run up to that many points, then stop it dead (or freeze and thaw it, and go on).
        Whether it came to its own end."""
        assert self.process.stdout is not None
        async with asyncio.timeout(LIFE):
            while line := await self.process.stdout.readline():
                self.points.append(line.decode().strip())
                if points is not None and len(self.points) == points:
                    if not freeze:
                        break
                    self._signal(signal.SIGSTOP)
                    await asyncio.sleep(0)
                    self._signal(signal.SIGCONT)
            else:
                await self.process.wait()
                return self.process.returncode == 0
        self._signal(signal.SIGKILL)
        await self.end()
        return False

    def _signal(self, what: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(what)

    async def end(self) -> str:
        self._signal(signal.SIGKILL)
        _, errors = await self.process.communicate()
        return errors.decode()


async def to_the_end(folder: Path, plan: list[tuple[int, bool]]) -> int:
    """One process after the other: disturbed as planned, then left alone. How many died."""
    folder.mkdir()
    for deaths, (points, freeze) in enumerate([*plan, (0, True), (0, True)]):
        worker = await Worker.start(folder)
        try:
            if await worker.live(points or None, freeze=freeze):
                return deaths
        finally:
            errors = await worker.end()
        assert worker.process.returncode == -signal.SIGKILL, errors
    raise AssertionError("the turns never came to their end")


async def leaves(folder: Path) -> dict[str, dict[str, Any]]:
    store = SqliteStore(folder / "june.db")
    await store.open()
    try:
        refs = [SessionRef("june", key) for key in SESSIONS]
        refs.append(SessionRef(DEADLY, "d"))
        return {f"{ref.agent}/{ref.key}": await left_behind(store, ref, "t1") for ref in refs}
    finally:
        await store.close()


def rows(folder: Path, sql: str) -> Counter[str]:
    with contextlib.closing(sqlite3.connect(folder / "june.db")) as connection:
        return Counter(str(row[0]) for row in connection.execute(sql))


def check(folder: Path, left: dict[str, Any], calm: dict[str, Any], deaths: int) -> None:
    assert left == calm
    for found in left.values():
        sequence = [event[0] for event in found["events"]]
        assert sequence == list(range(1, len(sequence) + 1))
    assert rows(folder, "select note from notes") == {"one": 3, "two": 3}
    assert rows(folder, "select text from deaths") == {"once": 1}
    told = [line.split("\t") for line in (folder / "effects").read_text().splitlines()]
    for name in ASYNC_EFFECTS:
        keys = Counter(key for seen, key in told if seen == name)
        # A payment's key is the order, which all three sessions share; the others are one a call.
        assert len(keys) == (1 if name.startswith("refund") else len(SESSIONS))
        assert 3 <= keys.total() <= 3 * (1 + deaths)


async def play(folder: Path, seed: int, kills: int) -> None:
    await to_the_end(folder / "calm", [])
    draw = random.Random(seed)  # noqa: S311 - dice, not secrets
    plan = [(draw.randrange(1, 110), draw.random() < 0.25) for _ in range(kills)]
    deaths = await to_the_end(folder / "killed", plan)
    assert deaths >= 1, "the deadly tool at least takes one process"
    calm, left = await leaves(folder / "calm"), await leaves(folder / "killed")
    await asyncio.to_thread(check, folder / "killed", left, calm, deaths)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
async def test_killed_at_random_it_leaves_what_an_undisturbed_process_leaves(
    tmp_path: Path, seed: int
) -> None:
    await play(tmp_path, seed, kills=3)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(100, 120))
async def test_killed_many_times_it_leaves_the_same(tmp_path: Path, seed: int) -> None:
    await play(tmp_path, seed, kills=10)
