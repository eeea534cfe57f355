"""A process with an outbox is killed around a post: the next one finds out what became of it, and the
person has the answer once."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from tests.crash.outbox_worker import POSTS

pytestmark = pytest.mark.crash

ROOT = Path(__file__).resolve().parents[2]
LIFE = 25.0


async def life(folder: Path, where: str) -> tuple[int | None, list[str]]:
    """One process: how it ended, and what it said."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.crash.outbox_worker", str(folder), where),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(LIFE):
            out, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
    assert process.returncode in {0, -signal.SIGKILL}, errors.decode()
    return process.returncode, out.decode().splitlines()


def posts(folder: Path) -> list[str]:
    found = folder / POSTS
    return found.read_text().splitlines() if found.exists() else []


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("where", "posted", "looked", "parts"),
    [
        ("before", 0, True, ["gone", "open"]),
        ("after", 1, True, ["open"]),
        ("journalled", 1, False, ["open"]),
    ],
)
async def test_killed_around_a_post_it_is_made_once(
    tmp_path: Path, where: str, posted: int, looked: bool, parts: list[str]
) -> None:
    code, _ = await life(tmp_path, where)
    assert code == -signal.SIGKILL
    assert len(await asyncio.to_thread(posts, tmp_path)) == posted
    code, said = await life(tmp_path, "never")
    assert code == 0
    assert any(line.startswith("reconcile") for line in said) is looked
    assert said[-1] == f"done 1 {parts}"
    (post,) = await asyncio.to_thread(posts, tmp_path)
    assert post.endswith("\tre: hello")


@pytest.mark.slow
@pytest.mark.timeout(90)
async def test_killed_again_and_again_it_is_still_made_once(tmp_path: Path) -> None:
    for where in ("before", "before", "after", "journalled"):
        code, _ = await life(tmp_path, where)
        assert code == -signal.SIGKILL, where
    code, _ = await life(tmp_path, "never")
    assert code == 0
    (post,) = await asyncio.to_thread(posts, tmp_path)
    assert post.endswith("\tre: hello")
