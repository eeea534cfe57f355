"""The tutorial, block by block in one shell, as a reader would paste it."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.support.blocks import blocks
from tests.support.pasted import PATIENCE, ROOT, do, run, steps

TUTORIAL = "docs/tutorial.md"

pytestmark = [pytest.mark.timeout(PATIENCE + 30), pytest.mark.crash]


def test_every_block_does_what_the_tutorial_says(tmp_path: Path) -> None:
    assert len(list(steps(TUTORIAL))) > 12
    do(TUTORIAL, tmp_path, PAYMENTS_SECONDS="1.5")


def test_a_host_that_cannot_start_ends_the_wait_and_says_why(tmp_path: Path) -> None:
    (start,) = [block.code for block in blocks(TUTORIAL) if "PORT=0" in block.code]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code = start.partition("gateway ask")[0].replace("PORT=0", f"PORT={port}")
        (tmp_path / "agent").symlink_to(ROOT / "agent")
        run(f"{{\n{code}}} > shown 2>&1", tmp_path, GATEWAY_MODEL="scripted")
    assert f"can't listen on 127.0.0.1:{port}" in (tmp_path / "shown").read_text()
