"""The engine on SQLite with everything on: events, usage rows, validated arguments, FULL.

usage: python -m benchmarks.engine [seconds]
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from benchmarks.common import TOOL_STEPS, bare_loop, drive, folder, report, text
from gateway.engine.agent import AgentDef
from gateway.engine.messages import Text, ToolCall
from gateway.engine.model import ModelReply, ModelRequest, Usage
from gateway.engine.outcomes import TurnInput
from gateway.engine.runtime import Runtime
from gateway.engine.steps.context import ToolContext
from gateway.engine.tool import tool
from gateway.host.serving import settle_process
from gateway.models.scripted import ScriptedModel
from gateway.sinks.local import LocalSink
from gateway.stores import open_store

COST = Usage(model="scripted", input=1000, output=200)


@tool
def note(ctx: ToolContext, n: int) -> dict[str, Any]:
    """Write a row through the store, exactly once."""
    handle = ctx.store.unwrap()
    if handle is not None:
        handle.execute("insert into orders(turn, n) values (?, ?)", (ctx.turn_id, n))
    return {"text": text()}


def reply(request: ModelRequest) -> ModelReply:
    given = (len(request.turn) - 1) // 2
    if given < TOOL_STEPS:
        return ModelReply(
            blocks=(Text(text()), ToolCall(f"c{request.messages[-1].index}", "note", {"n": given})),
            stop="tool_use",
            usage=COST,
        )
    return ModelReply(blocks=(Text(text()),), usage=COST)


def agent() -> AgentDef:
    return AgentDef(
        name="bench",
        model=ScriptedModel(reply, chunks=0),
        instructions="You are a benchmark.",
        tools={note.name: note},
    )


@tool
def make_table(ctx: ToolContext) -> dict[str, Any]:
    """Create the tool's own table."""
    handle = ctx.store.unwrap()
    if handle is not None:
        handle.execute(
            "create table if not exists orders(id integer primary key, turn text, n integer)"
        )
    return {}


async def prepare(runtime: Runtime) -> None:
    """The tool's table, made through the seam like any author's would be."""
    setup = AgentDef(
        name="setup",
        model=ScriptedModel(
            lambda request: (
                ModelReply.say("ok") if len(request.turn) > 1 else ModelReply.call("make_table")
            )
        ),
        tools={make_table.name: make_table},
    )
    runtime.agents = {**runtime.agents, "setup": setup}
    result = await runtime.session("setup", "setup").turn(TurnInput(message="go"))
    assert result.status == "completed", result


async def main(seconds: float) -> None:
    store = open_store(f"sqlite:///{folder() / 'engine.db'}")
    await store.open()
    async with Runtime({"bench": agent()}, store, LocalSink()) as runtime:
        await prepare(runtime)
        settle_process()  # as a host does

        async def turn(session: str, number: int) -> None:
            message = TurnInput(message=text(), turn_id=f"{session}:{number}")
            result = await runtime.session("bench", session).turn(message)
            assert result.status == "completed", result

        for sessions in (1, 64):
            bare = bare_loop(1.0)
            rate, lasted = await drive(turn, sessions, seconds)
            bare = (bare + bare_loop(1.0)) / 2
            report("engine on SQLite", sessions, rate, lasted, bare)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]) if len(sys.argv) > 1 else 5.0))
