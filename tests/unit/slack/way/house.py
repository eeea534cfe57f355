"""A gateway behind a channel, with a store that a test can look into."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import cast

from channels.protocol import Channel, ChannelContext
from gateway.engine.agent import AgentDef
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.limits import Waits
from gateway.engine.model import ModelReply, ModelRequest
from gateway.engine.outcomes import TurnInput
from gateway.engine.ports import SessionStore
from gateway.engine.records import RequestSummary
from gateway.engine.runtime import Runtime
from gateway.engine.steps.context import ToolContext
from gateway.engine.tool import tool
from gateway.host.channels.context import ChannelRoom, Surroundings
from gateway.host.channels.registry import Registry
from gateway.host.metrics import Metrics
from gateway.intake.receive import Intake
from gateway.models.scripted import ScriptedModel
from gateway.outbox.worker import Outbox
from gateway.sinks.local import LocalSink
from gateway.stores.memory import MemoryStore
from gateway.testing.time import ScaledTime
from tests.support.turns import calls

FORM: JsonObject = {
    "type": "object",
    "properties": {"amount": {"type": "number"}, "note": {"type": "string"}},
    "required": ["amount", "note"],
}
CHOICE: JsonObject = {"enum": ["refund", "reorder"]}


@tool(effect="external")
async def form(ctx: ToolContext) -> str:
    """Ask a person to fill something in."""
    return str(await ctx.request_input(id="form", prompt="How much?", schema=FORM))


@tool(effect="external")
async def choice(ctx: ToolContext) -> str:
    """Ask a person for one of two words."""
    return str(await ctx.request_input(id="choice", prompt="What now?", schema=CHOICE))


def answered(request: ModelRequest) -> ModelReply:
    """``call <tool>`` in a message has that called, ``as a file`` a file attached; anything else is
    answered."""
    named = [name for name in ("form", "choice") if f"call {name}" in request.text]
    if len(request.turn) == 1 and named:
        return ModelReply.call(named[0])
    if len(request.turn) == 1 and "as a file" in request.text:
        return calls(("attach_file", {"name": "orders.csv", "text": "1042,sent"}))
    last = request.turn[-1].results
    return ModelReply.say(f"Done: {last[0].output}" if last else "It is on its way.")


@dataclass
class House:
    """``ctx`` is what the channel is handed."""

    runtime: Runtime
    store: SessionStore
    ctx: ChannelContext

    async def verdicts(self) -> list[tuple[str, str]]:
        """Word and rule of each, the oldest first."""
        found = await self.store.ledger.verdicts(limit=1000)
        return [(row.verdict, row.rule) for row in reversed(found)]

    async def inbox(self) -> list[tuple[str, JsonObject]]:
        """What waits to be thought about: its kind and what is kept of it. Takes it."""
        rows = await self.store.ledger.take_inbox("test", self.ctx.clock.now(), Millis(60_000), 100)
        return [(row.kind, json.loads(row.body)["event"]) for row in rows]

    async def turns(self) -> int:
        return len(await self.store.list_turns())

    async def parked(self, name: str) -> RequestSummary:
        """A request of this tool's that waits."""
        session = self.runtime.session("june", "s")
        await session.start(TurnInput(message=f"call {name}", source="api"))
        while not (found := await self.store.list_requests()):
            await asyncio.sleep(0.005)
        return found[0]


@asynccontextmanager
async def housed(
    *,
    waits: Waits | None = None,
    store: SessionStore | None = None,
) -> AsyncGenerator[House, None]:
    opened = store or MemoryStore()
    if store is None:
        await opened.open()
    tools = {one.name: one for one in (form, choice)}
    agent = AgentDef(name="june", model=ScriptedModel(answered), tools=tools)
    runtime = Runtime({"june": agent}, opened, LocalSink())
    time = waits or ScaledTime(50.0)
    channel = cast("Channel", SimpleNamespace(source="slack"))
    registry = Registry()
    outbox = Outbox(
        runtime=runtime,
        channels={},
        context=lambda _: room,
        owner=runtime.owner,
        waits=time,
    )
    room = ChannelRoom(
        runtime,
        "june",
        "slack",
        Intake(runtime=runtime, agent="june", channel=channel, wake=lambda: None),
        outbox,
        Surroundings(registry=registry, metrics=Metrics(), waits=time),
    )
    async with runtime:
        yield House(runtime, opened, cast("ChannelContext", room))
    await opened.close()
