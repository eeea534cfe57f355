"""A command that talks to a host goes on with the host's next start."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.cli import COMMAND, Serving, Shell

pytestmark = pytest.mark.timeout(120)  # starts one process after another

SLOW = '''
import asyncio
from gateway import tool

@tool(effect="external")
async def opening_hours(day: str) -> dict[str, str]:
    """When the workshop is open."""
    await asyncio.sleep(1.5)
    return {"day": day, "hours": "9 to 18"}
'''


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    Shell(tmp_path).ok("new", "shop")
    return Shell(tmp_path / "shop")


def talking(shell: Shell, *args: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, *args],
        cwd=shell.folder,
        env=shell.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    return process.returncode, out.decode(), err.decode()


def test_a_conversation_outlives_its_host(shell: Shell) -> None:
    with Serving(shell):
        chat = talking(shell, "chat", "--session", "s1")
        assert chat.stdin is not None
        assert chat.stdout is not None
        chat.stdin.write(b"open on sunday?\n")
        chat.stdin.flush()
        while b"On sunday" not in (line := chat.stdout.readline()):
            assert line, ended(chat)
    with Serving(shell):
        chat.stdin.write(b"open on saturday?\n")
        chat.stdin.flush()
        code, out, err = ended(chat)
    assert code == 0, err
    assert "On saturday: 10 to 14." in out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_who_follows_a_turn_waits_for_the_next_start(shell: Shell, number: int) -> None:
    (shell.folder / "agent/tools/opening_hours.py").write_text(SLOW)
    with Serving(shell) as host:
        asking = talking(shell, "ask", "open on monday?")
        assert asking.stderr is not None
        assert b"opening_hours" in asking.stderr.readline()
        # Not reaped: whoever looks for it finds a process that is dead and still has its number.
        host.process.send_signal(number)
        with Serving(shell):
            code, out, err = ended(asking)
    assert (code, out) == (0, "On monday: 9 to 18.\n"), err


def test_the_same_turn_id_is_the_same_turn_with_a_host_and_without(shell: Shell) -> None:
    asked = ("ask", "open on sunday?", "--session", "s1", "--turn-id", "t1")
    with Serving(shell):
        through_the_host = shell.ok(*asked).out
    assert shell.ok(*asked).out == through_the_host
    assert len(shell.ok("turns", "--json").list) == 1


def test_a_host_that_never_comes_back_is_told_with_the_way_out(shell: Shell) -> None:
    with Serving(shell) as host:
        chat = talking(shell, "chat", "--session", "s1")
        assert chat.stdin is not None
        assert chat.stdout is not None
        chat.stdin.write(b"open on sunday?\n")
        chat.stdin.flush()
        while b"On sunday" not in (line := chat.stdout.readline()):
            assert line, ended(chat)
        host.kill()
        chat.stdin.write(b"open on saturday?\n")
        chat.stdin.flush()
        code, _, err = ended(chat)
    assert code == 8
    assert err.splitlines()[-1].endswith("fix: gateway serve"), err
