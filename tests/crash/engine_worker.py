"""One process of the SIGKILL test: finds the same turns each time it is started, and brings them to
their end. Prints each point of its life, so that a test can kill it there or thereabouts."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import Any

from typing_extensions import override

from gateway.engine.agent import AgentDef
from gateway.engine.errors import StaleAnswerError
from gateway.engine.limits import Limits
from gateway.engine.model import ModelReply
from gateway.engine.outcomes import TurnInput
from gateway.engine.runtime import Runtime
from gateway.engine.steps.context import ToolContext
from gateway.engine.tool import tool
from gateway.models.scripted import ScriptedModel
from gateway.sinks.local import LocalSink
from gateway.stores.sqlite import SqliteStore
from gateway.testing.crash import CrashingStore
from tests.support.turns import Effects, calls, everything, replies

SESSIONS = ("a", "b", "c")
DEADLY = "deadly"


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class Telling(CrashingStore):
    @override
    def _point(self, name: str) -> None:
        say(name)


class Diary(list[tuple[str, str]]):
    """Effects on the outside, in a file that outlives the process."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    @override
    def append(self, item: tuple[str, str], /) -> None:
        os.write(self.file, "\t".join(item).encode() + b"\n")


def deadly_agent(marker: Path) -> AgentDef:
    @tool
    def die(ctx: ToolContext) -> dict[str, Any]:
        """Write a row, then take the process away before the transaction ends."""
        handle = ctx.store.unwrap()
        assert handle is not None
        handle.execute("create table if not exists deaths(text text)")
        handle.execute("insert into deaths values ('once')")
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return {"survived": True}
        os.kill(os.getpid(), signal.SIGKILL)
        return {}

    script = replies(calls(("die", {})), ModelReply.say("still here"))
    return AgentDef(name=DEADLY, model=ScriptedModel(script), tools={"die": die})


async def one(runtime: Runtime, agent: str, key: str) -> None:
    """Bring one session's turn to its end, answering what it asks."""
    session = runtime.session(agent, key)
    await session.start(TurnInput(message="go", turn_id="t1"), when_suspended="queue")
    while True:
        result = await session.result("t1")
        if result.status != "suspended" or result.request is None:
            say(f"ended {agent}/{key} {result.status}")
            return
        with contextlib.suppress(StaleAnswerError):
            await session.resume("t1", result.request.id, True, by="cli:me")


async def main(folder: Path) -> None:
    effects = Effects()
    effects.seen = Diary(folder / "effects")
    store = Telling(SqliteStore(folder / "june.db"))
    await store.open()
    agents = {"june": everything(effects), DEADLY: deadly_agent(folder / "died")}
    # Killed on purpose, many times: that is no reason to give a turn up.
    runtime = Runtime(agents, store, LocalSink(), limits=Limits(max_attempts=100))
    async with runtime, asyncio.TaskGroup() as group:
        for key in SESSIONS:
            group.create_task(one(runtime, "june", key))
        group.create_task(one(runtime, DEADLY, "d"))
    await store.close()
    say("all done")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
