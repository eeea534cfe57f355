"""A real host in a process of its own, to be killed without warning and started again.

Each is forked from one process that has imported what hosts are made of, which is most of the time that a
start takes, and has done nothing else: it reads no setting, opens no store, loads no agent and has no second
thread. All that a host knows, it has from its settings and its state directory.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import gateway
from gateway.cli.problem import Problem
from gateway.config import foreign_environ
from gateway.engine.kinds import Millis

if TYPE_CHECKING:
    from gateway.cli.desk.client import Client

PATIENCE = 30.0
HOSTS = "gateway.cli.demo.later"
"""Started, never imported: what hosts takes longer to import than all the rest of the demo."""


class HostProcess:
    """A host on a free port, which it keeps, and with a state directory that outlives it."""

    def __init__(self, state: Path, agent: Path, token: str, extra: dict[str, str]) -> None:
        self.ahead = Millis(0)
        """How far the clock of its next start is ahead of ours."""
        self._state = state
        self._token = token
        self._source: Process | None = None
        self._pid = 0
        self._port = 0
        self.starts = 0
        self.kills = 0
        self.log = state / "host.log"
        around = foreign_environ()
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

    async def prepare(self) -> Process:
        """The process that hosts are forked from; it goes on importing after this."""
        if self._source is None:
            self._source = await self._spawn()
        return self._source

    async def start(self) -> Client:
        """Start it and wait until it is ready; a client for it, not entered yet."""
        from gateway.cli.desk.client import Client

        source = await self.prepare()
        told = {"ahead": self.ahead, "port": self._port, "settings": self._settings}
        if source.stdin is not None:
            source.stdin.write(json.dumps(told).encode() + b"\n")
        self._pid = int(await self._answer())
        url = await self._answer()
        if not url.startswith("http"):
            self._pid = 0
            raise await self._broken(f"the host ended with {url} instead of starting")
        self.starts += 1
        self._port = int(url.rpartition(":")[2])
        return Client(url, self._token)

    async def _spawn(self) -> Process:
        with self.log.open("ab") as log:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", HOSTS),
                stdin=PIPE,
                stdout=PIPE,
                stderr=log,
                # Not the caller's folder: its gateway.toml must not speak here. Not its terminal's
                # Ctrl-C either: the demo ends the host itself.
                cwd=self._state,
                env=self._environ,
                start_new_session=True,
            )

    async def _answer(self) -> str:
        """The next line of the process that starts hosts."""
        line = b""
        if self._source is not None and self._source.stdout is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    line = await self._source.stdout.readline()
        if not line:
            raise await self._broken(f"the host is gone, or was silent for {PATIENCE:.0f} s")
        return line.decode().strip()

    async def kill(self) -> None:
        """SIGKILL: no handler runs, nothing is flushed, nobody is told."""
        self.kills += await self._end(signal.SIGKILL) == -signal.SIGKILL

    async def stop(self) -> None:
        """Ask it to end, and see that it does, and the one that started it."""
        if self._source is None:
            return
        try:
            with suppress(Problem):  # whatever went wrong before this is told, and not that
                await self._end(signal.SIGTERM)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(self._source.pid, signal.SIGKILL)
            await self._source.wait()

    async def _end(self, number: signal.Signals) -> int | None:
        """How it ended; nothing if none runs."""
        pid, self._pid = self._pid, 0
        if not pid:
            return None
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        while (told := await self._answer()).startswith("http"):
            pass  # it was just ready
        return int(told)

    async def _broken(self, what: str) -> Problem:
        said = await asyncio.to_thread(self.log.read_text, "utf-8", "replace")
        return Problem(
            "demo",
            "\n".join([what, *said.strip().splitlines()[-3:]]),
            fix="gateway demo --keep --debug",
        )
