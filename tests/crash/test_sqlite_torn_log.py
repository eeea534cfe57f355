"""Power lost in the middle of a write: whatever is left of the log, what opens is a prefix."""

from __future__ import annotations

import asyncio
import random
import shutil
from pathlib import Path

import pytest

from gateway.engine.kinds import SessionRef
from gateway.stores.sqlite import SqliteStore
from tests.conformance.store_kit import begin, model_step
from tests.crash.sqlite_rows import whole_steps

pytestmark = pytest.mark.crash

SESSIONS, STEPS, CUTS = 6, 12, 40


async def test_a_torn_log_opens_at_a_whole_commit(tmp_path: Path) -> None:
    source = tmp_path / "june.db"
    store = SqliteStore(source)
    await store.open()
    sessions = [await begin(store, SessionRef("june", f"s{k}")) for k in range(SESSIONS)]
    for index in range(STEPS):
        async with asyncio.TaskGroup() as tasks:
            for turn, fence in sessions:
                tasks.create_task(store.commit(fence, model_step(turn, index, 1 + 3 * index)))
    before = await asyncio.to_thread(cut_everywhere, source, tmp_path / "torn")
    await store.close()
    assert before[0] == 0
    assert before[-1] == SESSIONS * STEPS
    assert before == sorted(before)
    assert len(set(before)) > 5


def cut_everywhere(source: Path, folder: Path) -> list[int]:
    """Steps found in copies whose log ends ever later; the last one is whole."""
    folder.mkdir()
    log = Path(f"{source}-wal").read_bytes()
    draw = random.Random(7)  # noqa: S311 - the same cuts every time
    ends = sorted({0, len(log), *(draw.randrange(len(log)) for _ in range(CUTS))})
    found: list[int] = []
    for end in ends:
        copy = folder / f"{end}.db"
        shutil.copyfile(source, copy)
        Path(f"{copy}-wal").write_bytes(log[:end])
        try:
            found.append(sum(whole_steps(copy).values()))
        except Exception as exc:
            raise AssertionError(f"cut at {end} of {len(log)}") from exc
    return found
