"""What the pages on Slack and on its emulator show, done."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.blocks import blocks
from tests.support.cli import Shell
from tests.support.pasted import do

pytestmark = pytest.mark.timeout(120)  # starts a process


def test_the_page_on_slack_without_a_workspace(tmp_path: Path) -> None:
    do("docs/howto/slack.md", tmp_path)


async def test_the_tests_on_the_page_pass(tmp_path: Path) -> None:
    shown = blocks("docs/howto/slack-emulator.md", "python")
    names: list[str] = []
    for block in shown:
        name = re.match(r"# (\S+\.py)\n", block.code)
        assert name, f"a Python block must begin with the name of its file:\n{block.code}"
        (tmp_path / name[1]).write_text(block.code)
        names.append(name[1])
    alone = ["-p", "no:cacheprovider", "-p", "no:asyncio", "-W", "error"]
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "pytest", "-q", *alone, *names],
        cwd=tmp_path,
        env=Shell(tmp_path).environ,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(names)} passed" in done.stdout
