"""An outbox between a runtime and a platform that is a list of posts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from channels.protocol import ChannelContext, Journal, TurnView
from gateway.engine.agent import AgentDef
from gateway.engine.kinds import JsonObject, Millis, Speaker
from gateway.engine.ledger import Delivery
from gateway.engine.limits import Clock, Waits
from gateway.engine.model import ModelReply, ModelRequest
from gateway.engine.outcomes import TurnInput
from gateway.engine.ports import SessionStore
from gateway.engine.records import NEW_TURN, DeliveryMark, DeliveryOpened, TurnSummary
from gateway.engine.runtime import Runtime
from gateway.engine.steps.context import ToolContext
from gateway.engine.struct import replace
from gateway.engine.tool import tool
from gateway.models.scripted import ScriptedModel
from gateway.outbox.view import turn_view
from gateway.outbox.worker import Outbox, Tempo
from gateway.sinks.local import LocalSink
from gateway.testing.time import ScaledTime
from tests.unit.outbox.platform import SOURCE, Platform, Recorder

SPEED = 20.0
"""Slow enough that a lease outlives the hiccups of a busy machine."""
ADA = Speaker(id="slack:T1:U1", name="ada", level="provider")


class HandClock:
    """The calendar, which a test turns on; durations go by ``waits``."""

    def __init__(self, time: ScaledTime) -> None:
        self._time = time
        self.ahead = 0

    @property
    def clock(self) -> Clock:
        return Clock(now=self.now, monotonic=self._time.monotonic)

    def now(self) -> Millis:
        return Millis(self._time.now() + self.ahead)

    def pass_hours(self, hours: float) -> None:
        self.ahead += round(hours * 3_600_000)


# -- the agent -----------------------------------------------------------------------------------------
@dataclass
class Gates:
    """Holds the ``hold`` tool of a turn until the test opens the gate."""

    opened: dict[str, asyncio.Event] = field(default_factory=dict[str, asyncio.Event])
    begun: set[str] = field(default_factory=set[str])

    def gate(self, name: str) -> asyncio.Event:
        return self.opened.setdefault(name, asyncio.Event())


@tool(effect="external")
async def hold(ctx: ToolContext, name: str) -> str:
    """Wait until the test says go."""
    ctx.services.begun.add(name)
    await ctx.services.gate(name).wait()
    return "held"


@tool(effect="external")
async def approve(ctx: ToolContext, name: str) -> str:
    """Ask whoever may for a yes, then wait for a gate if one is named."""
    who: JsonObject = {"user": "cli:ada"}
    said = await ctx.request_input(id="ok", prompt="May I?", schema=bool, answerers=who)
    if name:
        ctx.services.begun.add(name)
        await ctx.services.gate(name).wait()
    return str(said)


def reply(request: ModelRequest) -> ModelReply:
    """``hold <name>`` and ``approve`` call a tool, ``silent`` says nothing; everything else is
    said back."""
    if len(request.turn) > 1:
        return ModelReply.say("after that")
    match request.text.split():
        case ["hold", name]:
            return ModelReply.call("hold", name=name)
        case ["approve", *name]:
            return ModelReply.call("approve", name="".join(name))
        case ["silent"]:
            return ModelReply.say("")
        case _:
            return ModelReply.say(f"re: {request.text}")


def agent(gates: Gates) -> AgentDef:
    tools = {one.name: one for one in (hold, approve)}
    return AgentDef(name="june", model=ScriptedModel(reply), tools=tools, services=gates)


# -- the outbox around it ------------------------------------------------------------------------------
@dataclass
class Context:
    """As much of a channel's context as ``Recorder`` asks for."""

    runtime: Runtime
    clock: Clock
    waits: Waits
    outbox: Outbox | None = None

    def journal(self, delivery: Delivery) -> Journal:
        assert self.outbox is not None
        return self.outbox.journal(delivery)

    async def turn(self, delivery: Delivery) -> TurnView:
        return await turn_view(self.runtime, delivery, _no_card)


async def _no_card(_: str) -> None:
    return None


@dataclass
class Desk:
    runtime: Runtime
    outbox: Outbox
    platform: Platform
    channel: Recorder
    gates: Gates
    time: ScaledTime
    hand: HandClock

    @property
    def ledger(self) -> Any:
        return self.runtime.store.ledger

    async def start(
        self,
        message: str,
        turn_id: str,
        *,
        session: str = "s1",
        place: str | None = None,
        lane: str | None = None,
        wake: bool = True,
    ) -> None:
        """A turn that is to be shown."""
        where = place or session
        opened = DeliveryOpened(
            turn=NEW_TURN,
            part="reply",
            source=SOURCE,
            target={"place": where},
            lane=lane or f"{SOURCE}:{where}",
            at=self.hand.now(),
        )
        given = TurnInput(
            message=message,
            turn_id=turn_id,
            source=SOURCE,
            companions=(opened,),
            speaker=ADA,
            event={"n": 1},
        )
        await self.runtime.session("june", session).start(given, when_suspended="queue")
        if wake:
            self.outbox.wake()

    async def mark(self, turn_id: str) -> None:
        row = await self.row(turn_id)
        await self.ledger.note([DeliveryMark(turn=row.turn, at=self.hand.now())])
        self.outbox.wake()

    async def row(self, turn_id: str, part: str = "reply") -> Delivery:
        rows = await self.ledger.deliveries(turn_id=turn_id)
        (found,) = [row for row in rows if row.part == part]
        return cast("Delivery", found)

    async def until(self, turn_id: str, *states: str, error: str = "") -> Delivery:
        """Wait until a row is in one of these states, and says so much about its trouble."""
        row = await self.row(turn_id)
        for _ in range(1000):
            if row.state in states and (row.error or "").startswith(error):
                return row
            await asyncio.sleep(0.01)
            row = await self.row(turn_id)
        turns = [(one.turn.turn_id, one.turn.state) for one in await self.turns()]
        raise AssertionError(f"{row} never became {states} {error!r}; turns: {turns}")

    async def turns(self) -> Sequence[TurnSummary]:
        return await self.runtime.store.list_turns()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0.005)


@asynccontextmanager
async def desk(
    store: SessionStore,
    *,
    platform: Platform | None = None,
    tempo: Tempo | None = None,
    runs: bool = True,
    sources: Collection[str] = (SOURCE,),
) -> AsyncGenerator[Desk]:
    """A runtime and an outbox on an open store. ``runs``: the outbox works already."""
    time, gates = ScaledTime(SPEED), Gates()
    hand = HandClock(time)
    runtime = Runtime({"june": agent(gates)}, store, LocalSink())
    channel = Recorder(platform or Platform())
    context = Context(runtime, hand.clock, time)
    outbox = context.outbox = Outbox(
        runtime=runtime,
        channels=dict.fromkeys(sources, channel),
        context=lambda _: cast("ChannelContext", context),
        owner="host-a",
        waits=time,
        clock=hand.clock,
        tempo=tempo,
    )
    made = Desk(runtime, outbox, channel.platform, channel, gates, time, hand)
    async with runtime:
        try:
            if runs:
                async with working(outbox):
                    yield made
            else:
                yield made
        finally:
            for gate in gates.opened.values():
                gate.set()


@asynccontextmanager
async def working(outbox: Outbox) -> AsyncGenerator[None]:
    async with asyncio.TaskGroup() as tasks:
        work = tasks.create_task(outbox.run())
        try:
            yield
        finally:
            work.cancel()


def opened(turn: Any, part: str, lane: str, at: Millis, **more: Any) -> DeliveryOpened:
    target: JsonObject = {"place": lane}
    row = DeliveryOpened(turn=turn, part=part, source=SOURCE, target=target, lane=lane, at=at)
    return replace(row, **more)
