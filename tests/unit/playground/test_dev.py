"""``gateway dev`` as a process: what it says, what it serves, where its data is."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest

from tests.support.cli import COMMAND, ROOT, Shell
from tests.support.playing import playing

pytestmark = pytest.mark.timeout(60)  # starts a process


@contextmanager
def developed(shell: Shell) -> Generator[str]:
    """Where ``gateway dev`` serves."""
    process = subprocess.Popen(
        [*COMMAND, "--json", "dev", "--port", "0"],
        cwd=shell.folder,
        env=shell.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate(timeout=10)
        yield str(cast("dict[str, Any]", json.loads(line))["url"])
    finally:
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 0, err.decode()


async def test_dev_serves_the_page_and_keeps_to_its_own_database(tmp_path: Path) -> None:
    shell = Shell(tmp_path, GATEWAY_AGENT=str(ROOT / "agent"))
    with developed(shell) as url:
        async with (
            aiohttp.ClientSession() as http,
            http.get(f"{url}/playground") as page,
        ):
            assert page.status == 200
            assert "script-src 'self'" in page.headers["Content-Security-Policy"]
            assert "#orders · Playground" in await page.text()
    made = {path.name for path in (tmp_path / ".gateway").glob("*.db")}
    assert "dev.db" in made
    assert "gateway.db" not in made


def test_the_terminal_says_which_page_nobody_answers_on(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.ok("new", ".")
    shell.ok("add", "channel", "email")
    command = [*COMMAND, "dev", "--port", "0", "--mail", "embedded"]
    process = subprocess.Popen(
        command, cwd=shell.folder, env=shell.environ, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    told = [process.stdout.readline() for _ in range(3)]
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert told[0].startswith("✓ gateway serves on"), told
    assert told[1].startswith(
        "  talk to it in its own Slack, after gateway add channel slack: http"
    )
    assert told[2].startswith("  write to its support inbox: http")


async def test_an_agent_that_isnt_in_slack_is_told_how_to_get_there(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    shutil.copytree(ROOT / "agent", agent, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("channels", "schedules"):
        shutil.rmtree(agent / folder)
    file = agent / "agent.py"
    routed = '    approvals={"email:refunds": "slack:C0000000APR"},\n'
    assert routed in file.read_text()
    file.write_text(file.read_text().replace(routed, ""))
    async with (
        playing(tmp_path / "state", agent) as play,
        aiohttp.ClientSession() as http,
        http.get(play.url) as page,
    ):
        assert "gateway add channel slack" in await page.text()
        async with http.get(f"{play.url}/mail") as mail:
            assert "channels/email.py" in await mail.text()
