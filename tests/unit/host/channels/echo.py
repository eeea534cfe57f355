"""A channel of a few lines: its wire is JSON, its screen a list."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field

from channels.contract import (
    Control,
    HookReply,
    HookRequest,
    Inbound,
    NotSent,
    Place,
    Route,
    SentOrNot,
)
from channels.protocol import Card, ChannelContext, Conversing, Person
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.events import MessageCompleted, TurnEvent
from gateway.engine.kinds import OPEN_STATES, JsonObject, Speaker
from gateway.engine.ledger import Delivery
from gateway.engine.messages import Text
from gateway.engine.ports import Prepared, Preparer, Preparing
from gateway.engine.tool import Tool, tool
from gateway.outbox.words import closing


@tool(effect="read")
def echo_only() -> str:
    """A tool that only turns of this channel get."""
    return "echoed"


@dataclass
class Echo:
    """``refuses`` names the errors that the next starts raise; ``log`` says what was asked of it."""

    source: str = "echo"
    tools: Sequence[Tool] = (echo_only,)
    refuses: list[BaseException] = field(default_factory=list[BaseException])
    fails: BaseException | None = None
    log: list[str] = field(default_factory=list[str])
    shown: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    ctx: ChannelContext | None = None

    def routes(self) -> Iterable[Route]:
        return (
            Route(method="POST", handler=self.hear, body_limit=1000),
            Route(method="GET", path="/seen", handler=self.seen),
        )

    async def start(self, ctx: ChannelContext) -> None:
        self.log.append("start")
        if self.refuses:
            raise self.refuses.pop(0)
        self.ctx = ctx

    async def stop(self) -> None:
        self.log.append("stop")

    def preparer(self) -> Preparer | None:
        return Reader()

    # -- in --------------------------------------------------------------------------------------------
    async def hear(self, request: HookRequest) -> HookReply:
        if self.fails is not None:
            raise self.fails
        assert self.ctx is not None
        told = json.loads(request.body)
        verdict = await self.ctx.receive(post(told["id"], told["text"], told.get("fetch")))
        return HookReply(200, verdict.word.encode(), {"Content-Type": "text/plain"})

    async def seen(self, request: HookRequest) -> HookReply:
        told = {"query": {k: [*v] for k, v in request.query.items()}, "path": request.path}
        named = {"x-echo": request.headers.get("x-echo")}
        return HookReply(201, json.dumps({**told, **named}).encode(), {"X-Echoed": "yes"})

    # -- out -------------------------------------------------------------------------------------------
    async def deliver(
        self, events: AsyncIterator[TurnEvent], delivery: Delivery, ctx: ChannelContext
    ) -> None:
        journal = ctx.journal(delivery)
        wanted, seq = journal.wanted, delivery.seq
        if delivery.request is not None:
            card = await ctx.card(delivery.request)
            assert card is not None
            self._show(delivery, f"{card.prompt} {card.outcome or 'open'}")
            state = "resting" if card.outcome is None else "done"
            await journal.settle(state, satisfied=wanted, seq=seq)  # type: ignore[arg-type]
            return
        async for event in events:
            seq = event.seq or seq
            if isinstance(event, MessageCompleted):
                self._show(delivery, event.text)
        view = await ctx.turn(delivery)
        if view.state == "failed":
            self._show(delivery, closing(view, said=False))
        state = "resting" if view.state in OPEN_STATES else "done"
        await journal.settle(state, satisfied=wanted, seq=seq)  # type: ignore[arg-type]

    deliver_resume = deliver

    async def reconcile(self, delivery: Delivery) -> SentOrNot:
        return NotSent()

    def _show(self, delivery: Delivery, text: str) -> None:
        self.shown.append((str(delivery.target["address"]), text))

    # -- people ----------------------------------------------------------------------------------------
    async def say(self, reply: JsonObject, words: str) -> None:
        self.log.append(words)

    async def person(self, by: Speaker, reply: JsonObject) -> Person | None:
        return Person(speaker=by, standing="member")

    def opens(self, policy: str) -> bool:
        return False

    def deciders(self, answerers: JsonObject) -> str:
        return "whoever may"

    async def act(self, control: Control, card: Card | None) -> None:
        self.log.append(control.kind)


class Reader:
    async def prepare(self, asked: Preparing) -> Prepared:
        return Prepared(before=(Text(f"before: {asked.fetch['what']}"),))


def post(id: str, text: str, fetch: JsonObject | None = None) -> Inbound:  # noqa: A002
    """A message of ada's in her room."""
    return Inbound(
        event_id=f"E{id}",
        keys=(f"echo:post:{id}",),
        post=f"echo:{id}",
        turn_id=f"echo:{id}",
        place=Place("echo:room", "echo:room"),
        addressed="direct",
        author="person",
        speaker=Speaker(id="echo:ada", name="ada", level="provider"),
        text=text,
        event={},
        target={"source": "echo", "address": "room"},
        fetch=fetch,
    )


def as_conversing(channel: Echo) -> Conversing:
    """That it is one is checked here, by the type checker."""
    return channel


STORE_IS_AWAY = StoreUnavailableError("disk full at a place nobody needs to know")
