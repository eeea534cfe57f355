"""The agent that the host's tests talk to: what it does is what it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from gateway.definition.author import Schedule, Target
from gateway.engine.agent import AgentDef, AskedRequest
from gateway.engine.errors import ModelError
from gateway.engine.kinds import Speaker
from gateway.engine.limits import Limits
from gateway.engine.model import ModelReply, ModelRequest
from gateway.engine.runtime import Runtime
from gateway.engine.steps.context import ToolContext
from gateway.engine.tool import tool
from gateway.host.api import Api
from gateway.host.channels.context import Context
from gateway.host.channels.registry import Registry
from gateway.host.console.access.access import Access
from gateway.host.metrics import MeteredSink, Metrics
from gateway.models.scripted import ScriptedModel
from gateway.schedules.book import Book
from gateway.sinks.local import LocalSink
from gateway.stores import open_store
from gateway.values import ApiToken
from tests.support.http import Client, gateway
from tests.unit.host.channels.echo import Echo

LEAD = "slack:T1:LEAD"
SCHEDULES = {
    "digest": Schedule(cron="0 9 * * 1-5", timezone="Europe/Paris", seed="good morning"),
    "told": Schedule(cron="0 9 * * *", seed="good day", target=Target("slack", "C1")),
}
ZONES = [ZoneInfo(one.timezone) for one in SCHEDULES.values()]
"""Read now: a host reads them before it serves."""


@dataclass
class World:
    """What a test can reach into, and what the tools reach back to."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    """Holds the ``wait`` tool until it is set."""
    running: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the ``wait`` tool has begun."""
    refunds: list[str] = field(default_factory=list[str])
    hook_fails: bool = False


@tool(effect="external")
async def wait(ctx: ToolContext) -> str:
    """Wait until the test says go."""
    ctx.services.running.set()
    await ctx.services.gate.wait()
    return "waited"


@tool(effect="money", key=("order",), answerers={"policy": "refunds"})
async def refund(ctx: ToolContext, order: str) -> dict[str, bool]:
    """Refund an order once the policy says so."""
    approved = await ctx.request_input(
        id="approve", prompt=f"Refund {order}?", schema=bool, answerers={"policy": "refunds"}
    )
    if approved is not True:
        return {"refunded": False}
    ctx.services.refunds.append(order)
    return {"refunded": True}


@tool(effect="money", key=("order",))
async def gift(ctx: ToolContext, order: str) -> str:
    """Moves money, and names nobody who may let it."""
    return "sent" if await ctx.request_input(id="gift", prompt="Gift?", schema=bool) else "kept"


@tool(effect="external")
async def ask(ctx: ToolContext, who: str) -> str:
    """Ask one person, or whoever may, for a word of at most five letters."""
    answerers = {"user": who} if who else None
    schema = {"type": "string", "maxLength": 5}
    word = await ctx.request_input(id="word", prompt="Say?", schema=schema, answerers=answerers)
    return f"said {word}"


@tool(effect="external")
async def vote(ctx: ToolContext) -> str:
    """Ask two of a policy."""
    answerers = {"policy": "board", "quorum": 2}
    agreed = await ctx.request_input(id="vote", prompt="Agree?", schema=bool, answerers=answerers)
    return str(agreed)


def reply(request: ModelRequest) -> ModelReply:
    """``call <tool> <argument>`` calls it, ``fail`` fails, anything else is said back."""
    if len(request.turn) > 1:
        last = request.turn[-1].results
        return ModelReply.say(f"done: {last[0].output}" if last else "done")
    match request.text.split(maxsplit=2):
        case ["call", "refund" | "gift" as name, order]:
            return ModelReply.call(name, order=order)
        case ["call", "ask"]:
            return ModelReply.call("ask", who="")
        case ["call", "ask", who]:
            return ModelReply.call("ask", who=who)
        case ["call", name]:
            return ModelReply.call(name)
        case ["fail"]:
            raise ModelError("the model is out of words")
        case _:
            return ModelReply.say(f"you said: {request.text}")


def agent_for(world: World) -> AgentDef:
    async def authorize(
        *,
        policy: str,
        scope: str | None,
        by: str,
        principal: Speaker | None,
        request: AskedRequest,
        speaker: Speaker | None,
        services: object,
    ) -> bool:
        if world.hook_fails:
            raise RuntimeError("the directory is down")
        if policy == "board":
            return principal is not None and principal.id.startswith(("slack:T1:", "console:"))
        return principal is not None and principal.id == LEAD

    tools = {one.name: one for one in (wait, refund, gift, ask, vote)}
    return AgentDef(
        name="june",
        model=ScriptedModel(reply),
        tools=tools,
        services=world,
        authorize_answer=authorize,
    )


async def until(holds: Callable[[], bool]) -> None:
    """Wait, for at most five seconds, until something holds."""
    for _ in range(500):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise TimeoutError("it didn't come to hold")


@dataclass(frozen=True, slots=True)
class Gateway:
    client: Client
    api: Api
    world: World


@asynccontextmanager
async def running(
    store: str = "memory://",
    *,
    tokens: tuple[ApiToken, ...] = (),
    token: str | None = None,
    channels: tuple[str, ...] = (),
    limits: Limits | None = None,
    heartbeat: float = 15.0,
    stall: float = 30.0,
    console: bool = False,
) -> AsyncGenerator[Gateway, None]:
    """A gateway on a socket, with a client that sends ``token``. Its ``channels`` are mounted, and
    nothing carries for them. ``console``: it has the operators' pages."""
    world = World()
    opened = await asyncio.to_thread(open_store, store)
    await opened.open()
    metrics = Metrics()
    agent = agent_for(world)
    sink = MeteredSink(LocalSink(), metrics)
    runtime = Runtime({agent.name: agent}, opened, sink, limits=limits)
    registry = Registry(
        channels={name: Echo(source=name) for name in channels},
        missing={"slack": ("SLACK_BOT_TOKEN",)},
    )
    room = Context(runtime, agent.name, registry)
    api = Api(
        runtime=runtime,
        agent=agent.name,
        tokens=tokens,
        registry=registry,
        schedules=Book(runtime, agent.name, SCHEDULES, room),
        metrics=metrics,
        heartbeat=heartbeat,
        stall=stall,
        started_at=runtime.clock.now(),
        access=Access(ledger=opened.ledger, clock=runtime.clock) if console else None,
    )
    try:
        async with runtime, gateway(api, token) as client:
            try:
                yield Gateway(client, api, world)
            finally:
                world.gate.set()
    finally:
        await opened.close()
