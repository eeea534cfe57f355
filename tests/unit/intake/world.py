"""One agent behind one channel that has no platform: what it is asked to say and do is written down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

from channels.contract import (
    Control,
    Parsed,
    RetryLater,
    Route,
    SentOrNot,
    Unknown,
    Verdict,
)
from channels.protocol import Card, ChannelContext, Conversing, Person, TurnStream
from gateway.engine.agent import AgentDef, AskedRequest
from gateway.engine.kinds import JsonObject, Millis, SessionRef, Speaker
from gateway.engine.ledger import Delivery, Part, Receipt, VerdictRow
from gateway.engine.limits import SYSTEM_CLOCK, Limits
from gateway.engine.model import ModelReply, ModelRequest
from gateway.engine.ports import SessionStore
from gateway.engine.records import TurnRecord
from gateway.engine.runtime import Runtime
from gateway.engine.steps.context import ToolContext
from gateway.engine.struct import replace
from gateway.engine.tool import Tool, tool
from gateway.intake.inbox import Inbox
from gateway.intake.receive import Intake
from gateway.models.scripted import ScriptedModel
from gateway.sinks.local import LocalSink
from gateway.stores import open_store
from gateway.testing.time import ScaledTime
from tests.unit.intake.events import CARD, LEAD, SECOND, STRANGER, said

Standing = Literal["member", "outsider", "nobody", "away"]


class Talk:
    """A channel of the test's own. ``known`` says what the platform answers about a person, ``names``
    whom it names otherwise than an event did; ``later`` makes the next act wait."""

    source = "talk"
    tools: Sequence[Tool] = ()

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []
        self.acts: list[tuple[str, str | None]] = []
        self.known: dict[str, Standing] = {STRANGER: "outsider"}
        self.names: dict[str, str] = {}
        self.opened: set[str] = set()
        self.asked: list[str] = []
        self.later: list[Millis] = []
        self.broken: BaseException | None = None
        self.begun = 0
        self.hangs = False
        """An act never comes to its end."""

    def routes(self) -> Sequence[Route]:
        return ()

    async def start(self, ctx: ChannelContext) -> None: ...

    async def stop(self) -> None: ...

    async def deliver(
        self, events: TurnStream, delivery: Delivery, ctx: ChannelContext
    ) -> None: ...

    async def deliver_resume(
        self, events: TurnStream, delivery: Delivery, ctx: ChannelContext
    ) -> None: ...

    async def reconcile(self, delivery: Delivery) -> SentOrNot:
        return Unknown("nothing was sent")

    async def say(self, reply: JsonObject, words: str) -> None:
        self.said.append((str(reply.get("user")), words))

    async def person(self, by: Speaker, reply: JsonObject) -> Person | None:
        self.asked.append(by.id)
        standing = self.known.get(by.id, "member")
        if standing == "away":
            return None
        return Person(speaker=replace(by, id=self.names.get(by.id, by.id)), standing=standing)

    def opens(self, policy: str) -> bool:
        return policy in self.opened

    def deciders(self, answerers: JsonObject) -> str:
        return f"the policy {answerers['policy']}" if "policy" in answerers else "whoever asked"

    async def act(self, control: Control, card: Card | None) -> None:
        if self.later:
            raise RetryLater(self.later.pop(), "busy")
        if self.broken is not None:
            raise self.broken
        self.begun += 1
        while self.hangs:
            await asyncio.sleep(0.01)
        self.acts.append((control.kind, None if card is None else card.request))


@dataclass
class World:
    """What a test can reach into, and what the tools reach back to."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    """Holds the ``wait`` tool until it is set."""
    running: asyncio.Event = field(default_factory=asyncio.Event)
    refunds: list[str] = field(default_factory=list[str])
    hook_fails: bool = False
    talk: Talk = field(default_factory=Talk)


@tool(effect="external")
async def wait(ctx: ToolContext) -> str:
    """Wait until the test says go."""
    ctx.services.running.set()
    await ctx.services.gate.wait()
    return "waited"


@tool(effect="money", key=("order",), answerers={"policy": "refunds"})
async def refund(ctx: ToolContext, order: str) -> str:
    """Refund an order once the policy says so."""
    approved = await ctx.request_input(
        id="approve", prompt=f"Refund {order}?", schema=bool, answerers={"policy": "refunds"}
    )
    if approved is True:
        ctx.services.refunds.append(order)
    return "refunded" if approved is True else "kept"


@tool(effect="external")
async def word(ctx: ToolContext) -> str:
    """Ask whoever wrote for a word of at most five letters."""
    schema = {"type": "string", "maxLength": 5}
    return str(await ctx.request_input(id="word", prompt="Say?", schema=schema))


@tool(effect="external")
async def vote(ctx: ToolContext) -> str:
    """Ask two of a policy."""
    answerers = {"policy": "refunds", "quorum": 2}
    agreed = await ctx.request_input(id="vote", prompt="Agree?", schema=bool, answerers=answerers)
    return str(agreed)


@tool(effect="write")
async def mine(ctx: ToolContext) -> str:
    """Ask whoever wrote, by name."""
    answerers = {"user": ctx.speaker.id} if ctx.speaker is not None else None
    return str(
        await ctx.request_input(id="mine", prompt="Go on?", schema=bool, answerers=answerers)
    )


TOOLS = {one.name: one for one in (wait, refund, word, vote, mine)}


def reply(request: ModelRequest) -> ModelReply:
    """Calls the tool that the message names, with what stands behind its name."""
    if len(request.turn) > 1:
        return ModelReply.say("done")
    _, said, _ = request.text.split("\n", 2)
    name, _, order = said.partition(" ")
    if name not in TOOLS:
        return ModelReply.say(f"you said: {said}")
    return ModelReply.call(name, order=order) if order else ModelReply.call(name)


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
        return principal is not None and principal.id in {LEAD, SECOND}

    return AgentDef(
        name="june",
        model=ScriptedModel(reply),
        tools=TOOLS,
        services=world,
        authorize_answer=authorize,
    )


# -- the stage -----------------------------------------------------------------------------------------
@dataclass
class Stage:
    """One process. ``inbox`` works only while a test lets it."""

    world: World
    store: SessionStore
    runtime: Runtime
    intake: Intake
    inbox: Inbox
    time: ScaledTime
    woken: list[bool]
    group: asyncio.TaskGroup
    workers: list[asyncio.Task[None]] = field(default_factory=list["asyncio.Task[None]"])

    async def receive(self, parsed: Parsed) -> Verdict:
        return await self.intake.receive(parsed)

    def work(self) -> None:
        """From here on the inbox is acted on, until the stage closes."""
        if not self.workers:
            self.workers.append(self.group.create_task(self.inbox.run()))

    async def rest(self) -> None:
        """The worker stops, as a host that stops makes it."""
        worker = self.workers.pop()
        worker.cancel()
        await asyncio.wait([worker])

    async def settled(self, event: str, *rules: str) -> VerdictRow:
        """Let the inbox work until the event's rule is one of these, and what is told is told."""

        async def there() -> bool:
            found = await self.verdict(event)
            told = {words for _, words in self.world.talk.said}
            return found.rule in rules and (found.said is None or found.said in told)

        self.work()
        await until(there)
        return await self.verdict(event)

    async def verdict(self, event: str) -> VerdictRow:
        (found,) = await self.store.ledger.verdicts(source="talk", event=event)
        return found

    async def turn(self, turn_id: str, key: str = "talk:T1:C1:1.1") -> TurnRecord | None:
        return await self.store.turn(SessionRef("june", key), turn_id)

    async def turns(self) -> list[tuple[str, str]]:
        """Ids and states, the oldest first."""
        found = await self.store.list_turns(limit=200)
        return [(one.turn.turn_id, one.turn.state) for one in reversed(found)]

    async def ended(self, turn_id: str, key: str = "talk:T1:C1:1.1") -> TurnRecord:
        async def over() -> bool:
            turn = await self.turn(turn_id, key)
            return turn is not None and turn.ended_at is not None

        await until(over)
        found = await self.turn(turn_id, key)
        assert found is not None
        return found

    async def parked(self) -> str:
        """The request that a turn waits on."""

        async def asked() -> bool:
            return bool(await self.store.list_requests())

        await until(asked)
        return (await self.store.list_requests())[-1].request.id

    async def parts(self, turn_id: str) -> list[str]:
        return sorted(one.part for one in await self.store.ledger.deliveries(turn_id=turn_id))

    async def show(self, part: str, ref: str = CARD, **more: str) -> None:
        """Deliver a view as the message with this reference, and the cards of more requests."""
        refs = {part: ref} | {f"card:{request}": there for request, there in more.items()}
        ledger = self.store.ledger
        now = Millis(SYSTEM_CLOCK.now() + 10**7)
        # Of each place one view at a time can be had, the oldest first.
        while rows := await ledger.claim("test", ["talk"], now, Millis(60_000), 50):
            for row in rows:
                if row.part in refs:
                    shown = Part(
                        delivery=row.id,
                        n=0,
                        kind="card",
                        state="open",
                        ref=refs.pop(row.part),
                        nonce="n",
                        opened_at=now,
                    )
                    await ledger.journal(row.token, [shown])
                receipt = Receipt(
                    delivery=row.id, token=row.token, satisfied=row.wanted, state="resting", seq=0
                )
                await ledger.settle(receipt)
        assert not refs, "there are no such views to deliver"


@asynccontextmanager
async def stage(
    url: str = "memory://",
    *,
    world: World | None = None,
    store: SessionStore | None = None,
    limits: Limits | None = None,
    speed: float = 50.0,
) -> AsyncGenerator[Stage]:
    world = world or World()
    opened = await asyncio.to_thread(open_store, url) if store is None else store
    await opened.open()
    time = ScaledTime(speed)
    runtime = Runtime(
        {"june": agent_for(world)}, opened, LocalSink(), limits=limits, clock=time.clock
    )
    channel: Conversing = world.talk
    woken: list[bool] = []
    inbox = Inbox(
        runtime=runtime,
        agent="june",
        channels={"talk": channel},
        owner="here",
        waits=time,
    )

    def wake() -> None:
        woken.append(True)
        inbox.wake()

    intake = Intake(runtime=runtime, agent="june", channel=channel, wake=wake)
    try:
        async with runtime, asyncio.TaskGroup() as group:
            here = Stage(world, opened, runtime, intake, inbox, time, woken, group)
            try:
                yield here
            finally:
                world.gate.set()
                for worker in here.workers:
                    worker.cancel()
    finally:
        await opened.close()


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait, for at most ten seconds, until something holds."""
    for _ in range(1000):
        if await holds():
            return
        await asyncio.sleep(0.01)
    raise TimeoutError("it didn't come to hold")


async def asked(here: Stage, what: str = "refund 1042") -> str:
    """A request that is open, on a card."""
    await here.receive(said(what))
    request = await here.parked()
    await here.show(f"card:{request}")
    return request


async def outcome(here: Stage, request: str) -> str | None:
    found = await here.store.find_request(request)
    assert found is not None
    return found.request.outcome
