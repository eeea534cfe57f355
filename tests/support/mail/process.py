"""What the real servers share: a folder, a port, a process on a leash."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

HOST = "127.0.0.1"
START_WITHIN = 20.0
STOP_WITHIN = 5.0
POLL = 0.01


class MailServerUnavailableError(RuntimeError):
    """A server can't be had here, or didn't start. What needs it fails where it must run."""


def program(name: str) -> str:
    """Where a program is; the daemons live where an ordinary user's path doesn't lead."""
    found = shutil.which(name, path=f"{os.defpath}:/usr/sbin:/usr/local/sbin")
    if found is None:
        raise MailServerUnavailableError(f"there is no {name}. fix: sudo bash .ci/setup-mail")
    return found


def lacking(*programs: str) -> str:
    """Why these can't be run here; empty if they can."""
    if os.geteuid() != 0:
        return "the mail servers change users when they start, so they need root"
    try:
        for name in programs:
            program(name)
    except MailServerUnavailableError as why:
        return str(why)
    return ""


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A folder that a server's unprivileged half can reach too: pytest's own are closed to it, and a
    path to a socket may have about 100 characters."""
    path = Path(tempfile.mkdtemp(prefix="june-mail-"))
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def free_port() -> int:
    with socket.create_server((HOST, 0)) as probe:
        port = probe.getsockname()[1]
        assert isinstance(port, int)
        return port


def start(command: Sequence[str], log: Path, **more: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a server in the foreground. It doesn't outlive a test run that was killed."""
    leash = ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []
    with log.open("ab") as out:
        return subprocess.Popen(
            [*leash, *command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd="/",
            start_new_session=True,
            env=more.get("env"),
        )


async def until(ready: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait for a server to be there; its log is the reason if it isn't."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(START_WITHIN):
            while process.poll() is None:
                if ready():
                    return
                await asyncio.sleep(POLL)
    said = log.read_text(errors="replace")[-3000:] if log.exists() else ""
    raise MailServerUnavailableError(f"{process.args!r} did not start:\n{said}")


async def stop(process: subprocess.Popen[bytes], how: signal.Signals = signal.SIGTERM) -> None:
    """Stop a server with all its children."""
    if process.poll() is None:
        process.send_signal(how)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(STOP_WITHIN):
            while process.poll() is None:
                await asyncio.sleep(POLL)
    with contextlib.suppress(ProcessLookupError):  # whoever is left
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(STOP_WITHIN)


def answers(port: int) -> bool:
    """Whether somebody who talks first listens there, like every mail server does."""
    with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=1) as line:
        return bool(line.recv(1))
    return False
