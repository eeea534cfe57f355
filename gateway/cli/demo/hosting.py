"""A real host in a process of its own, to be killed without warning and started again.

The process for the next start waits beside it: it has imported what hosts are made of, which is most of the
time that a start takes, and knows nothing else. It reads no setting, opens no store and loads no agent before
it is told to begin, and that is after the one before it has died.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from pathlib import Path

import gateway
from gateway.cli.desk.client import Client
from gateway.cli.problem import Problem
from gateway.config import foreign_environ
from gateway.engine.kinds import Millis
from gateway.host.hostfile import find_host

START_SECONDS = 30.0
HOST = "gateway.cli.demo.later"
"""Started, never imported: what hosts takes longer to import than all the rest of the demo."""
FEW = 20
"""Modules that are compiled at each start sooner than all the others once more."""


class HostProcess:
    """A host on a free port, which it keeps, and with a state directory that outlives it."""

    def __init__(self, state: Path, agent: Path, token: str, extra: dict[str, str]) -> None:
        self.ahead = Millis(0)
        """How far the clock of its next start is ahead of ours."""
        self._state = state
        self._token = token
        self._process: Process | None = None
        self._next: Process | None = None
        self._port = 0
        self.starts = 0
        self.kills = 0
        self.log = state / "host.log"
        around = foreign_environ()
        if around.get("PYTHONDONTWRITEBYTECODE") and _to_compile() > FEW:
            # It starts again and again: what may not be compiled where it lies is compiled here, once.
            del around["PYTHONDONTWRITEBYTECODE"]
            around["PYTHONPYCACHEPREFIX"] = str(state / "compiled")
        # A checkout that isn't installed is found all the same.
        paths = (str(Path(gateway.__file__).parents[1]), around.get("PYTHONPATH", ""))
        self._environ = {
            **around,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            # It speaks with this machine alone: no need to read the world's certificates at each start.
            "SSL_CERT_FILE": os.devnull,
        }
        self._settings = {
            "DATABASE_URL": f"sqlite:///{state / 'gateway.db'}",
            "GATEWAY_AGENT": str(agent),
            "GATEWAY_API_TOKEN": token,
            "GATEWAY_MODEL": "scripted",
            "GATEWAY_STATE": str(state),
            **extra,
        }

    def lend(self, extra: Mapping[str, str]) -> None:
        """Settings from its next start on."""
        self._settings |= extra

    async def start(self) -> Client:
        """Start it and wait until it is ready; a client for it, not entered yet."""
        process = self._process = self._next or await self._spawn()
        told = {"ahead": self.ahead, "port": self._port, "settings": self._settings}
        if process.stdin is not None:
            process.stdin.write(json.dumps(told).encode() + b"\n")
            process.stdin.close()
        self.starts += 1
        self._next = await self._spawn()
        url = await self._url(process)
        self._port = int(url.rpartition(":")[2])
        return Client(url, self._token)

    async def _spawn(self) -> Process:
        with self.log.open("ab") as log:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", HOST),
                stdin=PIPE,
                stdout=DEVNULL,
                stderr=log,
                # Not the caller's folder: its gateway.toml must not speak here. Not its terminal's
                # Ctrl-C either: the demo ends the host itself.
                cwd=self._state,
                env=self._environ,
                start_new_session=True,
            )

    async def _url(self, process: Process) -> str:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if process.returncode is not None:
                raise self._broken(f"the host ended with {process.returncode} instead of starting")
            found = find_host(self._state)
            if found is not None and found.pid == process.pid:
                return found.url
            await asyncio.sleep(0.02)
        raise self._broken(f"the host wasn't up after {START_SECONDS:.0f} s")

    async def kill(self) -> None:
        """SIGKILL: no handler runs, nothing is flushed, nobody is told."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
            self.kills += 1

    async def stop(self) -> None:
        """Ask it to end, and see that it does."""
        if self._next is not None:
            self._next.kill()
            await self._next.wait()
        if self._process is None or self._process.returncode is not None:
            return
        self._process.terminate()
        try:
            async with asyncio.timeout(10):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    def _broken(self, what: str) -> Problem:
        last = self.log.read_text("utf-8", "replace").strip().splitlines()[-3:]
        return Problem("demo", "\n".join([what, *last]), fix="gateway demo --keep --debug")


def _to_compile() -> int:
    """How many of the modules that this process has imported don't lie there compiled, or are older so
    than their source. What a host imports beyond them was written and installed with them."""
    count = 0
    for module in list(sys.modules.values()):
        source, cached = getattr(module, "__file__", None), getattr(module, "__cached__", None)
        if source and cached:
            written = Path(cached).stat().st_mtime if Path(cached).exists() else 0.0
            count += written < Path(source).stat().st_mtime
    return count
