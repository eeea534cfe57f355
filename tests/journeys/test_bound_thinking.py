"""A refund waits for its approval over a restart and a deploy, on a model that binds its thinking.

The strict fake refuses a request in which one byte before a thinking block has changed. So this
proves, with the real engine and store, that a turn resumes on the very edition it was parked with,
and that the next turn, on the new one, sends none of the old thinking.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from gateway.engine.agent import AgentDef
from gateway.engine.kinds import JsonObject
from gateway.engine.outcomes import TurnInput
from gateway.engine.ports import Model
from gateway.engine.runtime import Runtime
from gateway.engine.session import Session
from gateway.engine.steps.context import ToolContext
from gateway.engine.tool import tool
from gateway.models.anthropic import anthropic
from gateway.sinks.local import LocalSink
from gateway.stores.sqlite import SqliteStore
from gateway.testing.fake_anthropic import Call, FakeAnthropic, Reply, Say, Think

SCRIPT = [
    Reply(content=[Think("Let me look."), Call("lookup", {"order": "1042"})]),
    Reply(content=[Think("It was late."), Say("One moment."), Call("refund", {"order": "1042"})]),
    Reply(content=[Think("Approved."), Say("Refunded.")]),
    Reply(content=[Think("A new day."), Say("Good morning.")]),
]


def agent(model: Model, *, release: int) -> AgentDef:
    """The agent as released: the second release has other words in every place."""

    @tool(effect="read")
    async def lookup(order: str) -> dict[str, str]:
        """Find an order."""
        return {"order": order, "status": "late"}

    @tool(effect="money", key=("order",))
    async def refund(ctx: ToolContext, order: str) -> dict[str, bool]:
        """Pay an order back."""
        return {"refunded": bool(await ctx.request_input(id="ok", prompt=f"Refund {order}?"))}

    words = f"Find an order, as of release {release}."
    tools = {"lookup": replace(lookup, description=words), "refund": refund}
    return AgentDef(name="june", model=model, instructions=f"Release {release}.", tools=tools)


@asynccontextmanager
async def process(path: Path, made: AgentDef) -> AsyncIterator[Session]:
    """One life of the gateway."""
    store = SqliteStore(path)
    await store.open()
    runtime = Runtime({made.name: made}, store, LocalSink())
    await runtime.start()
    try:
        yield runtime.session("june", "web:1")
    finally:
        await runtime.stop(grace=2.0)
        await store.close()


async def test_thinking_survives_a_restart_and_a_deploy(tmp_path: Path) -> None:
    path = tmp_path / "june.db"
    async with FakeAnthropic(SCRIPT) as fake:
        model = anthropic("claude-opus-5-5", api_key="test", base_url=fake.url)
        await asyncio.to_thread(model.check)
        async with process(path, agent(model, release=1)) as session:
            started = await session.start(TurnInput(message="Where is 1042?"))
            parked = await session.result(started.turn_id)
            assert parked.status == "suspended", parked
        async with process(path, agent(model, release=2)) as session:
            pending = await session.pending()
            assert pending is not None
            await session.resume(started.turn_id, pending.id, True, digest=pending.digest)
            done = await session.result(started.turn_id)
            assert (done.status, done.text) == ("completed", "Refunded.")
            assert (await session.turn(TurnInput(message="Hello again"))).text == "Good morning."
        await model.close()
    assert [request.rejected for request in fake.requests] == [None] * 4
    first, second, resumed, later = (request.body for request in fake.requests)
    assert system(first) == system(second) == system(resumed) == "Release 1."
    assert system(later) == "Release 2."
    thoughts = [fake.requests[n].raw.count(b'"type":"thinking"') for n in range(4)]
    assert thoughts == [0, 1, 2, 0]
    assert fake.requests[2].raw.startswith(fake.requests[1].raw.removesuffix(b"]}]}"))


def system(body: JsonObject) -> object:
    blocks = body["system"]
    assert isinstance(blocks, list)
    assert isinstance(blocks[0], dict)
    return blocks[0]["text"]
