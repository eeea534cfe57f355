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
from gateway.engine.steps.tasks import Tasks

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
        self.pid = 0
        """Of the host that runs; 0 while none does."""
        self._source: Process | None = None
        self._told: asyncio.Queue[list[str]] = asyncio.Queue()
        self._tasks = Tasks()
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
            self._tasks.run(self._listen(self._source), "demo-hosts")
        return self._source

    async def start(self) -> Client:
        """Start it and wait until it is ready; a client for it, not entered yet."""
        from gateway.cli.desk.client import Client

        source = await self.prepare()
        told = {"ahead": self.ahead, "port": self._port, "settings": self._settings}
        if source.stdin is not None:
            source.stdin.write(json.dumps(told).encode() + b"\n")
        await self._answer("pid")
        word, url = await self._answer("url", "ended")
        if word == "ended":
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

    async def _listen(self, source: Process) -> None:
        """What the process that starts hosts says, until it is gone. A host may end by itself, and its number
        is another process's then."""
        while source.stdout is not None and (line := await source.stdout.readline()):
            word, value = line.decode().split()
            if word != "url":
                self.pid = int(value) if word == "pid" else 0
            self._told.put_nowait([word, value])
        self._told.put_nowait([])

    async def _answer(self, *words: str) -> list[str]:
        """The next line that begins so."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while told := await self._told.get():
                    if told[0] in words:
                        return told
                self._told.put_nowait(told)  # there won't be another
        raise await self._broken(f"the host is gone, or was silent for {PATIENCE:.0f} s")

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
            await self._tasks.close(PATIENCE)

    async def _end(self, number: signal.Signals) -> int | None:
        """How it ended; nothing if none runs."""
        if not self.pid:
            return None
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)
        _, status = await self._answer("ended")
        return int(status)

    async def _broken(self, what: str) -> Problem:
        said = await asyncio.to_thread(self.log.read_text, "utf-8", "replace")
        return Problem(
            "demo",
            "\n".join([what, *said.strip().splitlines()[-3:]]),
            fix="gateway demo --keep --debug",
        )
