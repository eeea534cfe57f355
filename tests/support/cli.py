"""The `gateway` command as a person or a script runs it: a process, its streams, its exit code."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, cast

from gateway.config import foreign_environ
from gateway.engine.kinds import Json, JsonObject

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "gateway")
TOKEN = "a-token-for-tests-only"


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Json:
        return cast("Json", json.loads(self.out))

    @property
    def object(self) -> JsonObject:
        assert isinstance(self.json, dict), self.out
        return self.json

    @property
    def list(self) -> list[JsonObject]:
        assert isinstance(self.json, list), self.out
        return [item for item in self.json if isinstance(item, dict)]

    @property
    def error(self) -> JsonObject:
        """The error of a run with --json."""
        found = cast("JsonObject", json.loads(self.err.splitlines()[-1]))["error"]
        assert isinstance(found, dict)
        return found


class Shell:
    """Runs commands in one folder, on one state directory, with the scripted model."""

    def __init__(self, folder: Path, **extra: str) -> None:
        self.folder = folder
        self.environ = {
            **foreign_environ(),
            "PYTHONPATH": str(ROOT),
            "GATEWAY_MODEL": "scripted",
            **extra,
        }

    def run(
        self,
        *args: str | bytes,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        quiet_trace: bool = True,
    ) -> Ran:
        """Run one command to its end. Whatever happens, no stack trace is shown."""
        command: list[str | bytes] = [*COMMAND, *args]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**self.environ, **(env or {})},
            input=stdin.encode("utf-8", "surrogateescape"),
            capture_output=True,
            timeout=60,
            check=False,
        )
        ran = Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
        if quiet_trace:
            assert "Traceback" not in ran.out + ran.err, ran.err
        return ran

    def ok(self, *args: str, stdin: str = "") -> Ran:
        ran = self.run(*args, stdin=stdin)
        assert ran.code == 0, (args, ran)
        return ran


class Serving:
    """A host of this shell's state directory."""

    def __init__(self, shell: Shell, *args: str) -> None:
        self._shell = shell
        self._args: Sequence[str] = args

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            [*COMMAND, "serve", "--port", "0", "--json", *self._args],
            cwd=self._shell.folder,
            env={**self._shell.environ, "GATEWAY_API_TOKEN": TOKEN},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            _, err = self.process.communicate(timeout=10)
            raise AssertionError(err.decode())
        self.url = str(cast("JsonObject", json.loads(line))["url"])
        return self

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=10)

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.kill()
            raise


class Mortal:
    """A host of many lives, on one state."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._serving: Serving | None = None
        self.url = ""

    @property
    def pid(self) -> int:
        assert self._serving is not None
        return self._serving.process.pid

    @property
    def alive(self) -> bool:
        return self._serving is not None and self._serving.process.poll() is None

    async def start(self, *args: str) -> None:
        await self.bury()
        serving = Serving(self._shell, *args)
        self._serving = await asyncio.to_thread(serving.__enter__)
        self.url = serving.url

    def kill(self) -> None:
        """SIGKILL, at once: this may be called in the middle of anything."""
        if self._serving is not None:
            self._serving.process.kill()

    async def bury(self) -> None:
        """See that it is gone."""
        if self._serving is not None:
            await asyncio.to_thread(self._serving.kill)
            self._serving = None


def eventually(what: str, holds: object, patience: float = 10.0) -> None:
    """Wait for something that another process does."""
    check = cast("type[bool]", holds)
    end = time.monotonic() + patience
    while not check():
        assert time.monotonic() < end, f"{what} didn't happen"
        time.sleep(0.02)
