"""A real server as a child process: found, kept on a leash, waited for, ended with all its children."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import tempfile
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path

HOST = "127.0.0.1"
START_WITHIN = 20.0
STOP_WITHIN = 5.0
POLL = 0.01


class ServerUnavailableError(RuntimeError):
    """A server can't be had here, or didn't start; the last line of the text says why."""


def program(name: str) -> str:
    """Where a program is; the daemons live where an ordinary user's path doesn't lead."""
    found = shutil.which(name, path=f"{os.defpath}:/usr/sbin:/usr/local/sbin")
    if found is None:
        raise ServerUnavailableError(f"there is no {name} on this machine")
    return found


def lacking(*programs: str) -> str:
    """Which of these can't be found here; empty if all can."""
    try:
        for name in programs:
            program(name)
    except ServerUnavailableError as why:
        return str(why)
    return ""


@contextlib.asynccontextmanager
async def folder() -> AsyncGenerator[Path]:
    """A folder that a server's unprivileged half can pass through, and only its owner can list. It is
    short: a path to a socket may have about 100 characters."""
    path = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="june-mail-"))
    try:
        await asyncio.to_thread(path.chmod, 0o711)
        yield path
    finally:
        await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)


def free_port() -> int:
    with socket.create_server((HOST, 0)) as probe:
        return int(probe.getsockname()[1])


async def start(command: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> Process:
    """Start a server in the foreground. It doesn't outlive this process, however that ends: the kernel
    tells it (``prctl(2)``, PR_SET_PDEATHSIG), where util-linux' ``setpriv`` is there to ask for it."""
    has_leash = await asyncio.to_thread(shutil.which, "setpriv")
    leash = ["setpriv", "--pdeathsig", "TERM"] if has_leash else []
    with await asyncio.to_thread(log.open, "ab") as out:
        return await asyncio.create_subprocess_exec(
            *(*leash, *command),
            stdin=DEVNULL,
            stdout=out,
            stderr=out,
            cwd="/",
            start_new_session=True,
            env=env,
        )


async def until(
    ready: Callable[[], Awaitable[bool]], server: Process, name: str, log: Path
) -> None:
    """Wait for a server to be there. Raises ``ServerUnavailableError`` with the end of its log."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(START_WITHIN):
            while server.returncode is None:
                if await ready():
                    return
                await asyncio.sleep(POLL)
    said = await asyncio.to_thread(log.read_text, errors="replace")
    raise ServerUnavailableError(f"{name} didn't start:\n{said[-3000:].strip()}")


async def stop(server: Process, how: signal.Signals = signal.SIGTERM) -> None:
    """Stop a server with all its children."""
    with contextlib.suppress(ProcessLookupError):
        server.send_signal(how)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(STOP_WITHIN):
            await server.wait()
    with contextlib.suppress(ProcessLookupError):  # whoever is left
        os.killpg(server.pid, signal.SIGKILL)
    await server.wait()


async def answers(port: int) -> bool:
    """Whether somebody who talks first listens there, like every mail server does."""
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(1):
            reader, writer = await asyncio.open_connection(HOST, port)
            try:
                return bool(await reader.read(1))
            finally:
                writer.close()
    return False
