"""An agent that asks people, a ledger, and the emulator: cards are shown there as they would be in Slack."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import cast

from channels.contract import NotSent, Parsed, Sent
from channels.protocol import Card, ChannelContext, TurnView
from channels.slack.api import SlackWeb
from channels.slack.cards.deliver import deliver_card, reconcile_card
from channels.slack.emulator import Limits, Person, Shown
from channels.slack.parse import Envelope, Installed, parse, read_socket
from channels.slack.reads.place import placed
from channels.slack.settings import SlackOptions, read_options
from gateway.approvals.reading import read_card
from gateway.engine.agent import AgentDef, AskedRequest
from gateway.engine.kinds import Json, JsonObject, Millis, Speaker
from gateway.engine.ledger import Delivery, Ledger
from gateway.engine.limits import SYSTEM_CLOCK, SYSTEM_WAITS, Clock, Waits
from gateway.engine.limits import Limits as EngineLimits
from gateway.engine.model import ModelReply, ModelRequest
from gateway.engine.outcomes import PendingInput, TurnInput
from gateway.engine.records import DeliveryMark, DeliveryOpened
from gateway.engine.runtime import Runtime
from gateway.engine.session import Session
from gateway.engine.steps.context import ToolContext
from gateway.engine.struct import replace
from gateway.engine.tool import tool
from gateway.models.scripted import ScriptedModel
from gateway.outbox.journal import RowJournal
from gateway.outbox.pacing import Budgets
from gateway.outbox.view import turn_view
from gateway.sinks.local import LocalSink
from gateway.stores.memory import MemoryStore
from gateway.testing.slack import Playground, playground
from tests.unit.slack.tokens import OneToken

LEASE = Millis(60_000)
OPTIONS = read_options(policy_words={"refunds": "@support-leads"})


@dataclass
class Desk:
    """What the tools reach for."""

    schema: object = bool
    prompt: str = "Refund $42.50 on order 1042?"
    answerers: JsonObject = field(default_factory=lambda: {"policy": "refunds"})
    expires: timedelta | None = None
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    fails: bool = False
    asked: int = 0


@tool(effect="external", timeout=20.0)
async def refund(ctx: ToolContext, order: str, note: str = "") -> str:
    """Refund an order once somebody says so."""
    desk = cast("Desk", ctx.services)
    said = await ctx.request_input(
        id="approve",
        prompt=desk.prompt,
        schema=desk.schema,
        answerers=desk.answerers,
        expires_in=desk.expires,
    )
    await desk.gate.wait()
    if desk.fails:
        raise RuntimeError("the bank is closed")
    return f"{said} {order} {len(note)}"


async def _authorize(
    *,
    policy: str,
    scope: str | None,
    by: str,
    principal: Speaker | None,
    request: AskedRequest,
    speaker: Speaker | None,
    services: object,
) -> bool:
    del policy, scope, principal, request, speaker, services
    return by.startswith("slack:T")


def _reply(note: str) -> ScriptedModel:
    def reply(request: ModelRequest) -> ModelReply:
        if len(request.turn) > 1:
            return ModelReply.say("done")
        return ModelReply.call("refund", order="1042", note=note)

    return ScriptedModel(reply)


@dataclass
class Hands:
    """A clock that a test moves, for us and for the emulator."""

    ahead: int = 0

    def now(self) -> Millis:
        return Millis(SYSTEM_CLOCK.now() + self.ahead)

    def monotonic(self) -> float:
        return SYSTEM_CLOCK.monotonic() + self.ahead / 1000

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def call_at(self, when: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(max(0.0, when - self.monotonic()), callback)

    @property
    def clock(self) -> Clock:
        return Clock(now=self.now, monotonic=SYSTEM_CLOCK.monotonic)


class Around:
    """What delivering a card takes of a ``ChannelContext``."""

    def __init__(self, runtime: Runtime, hands: Hands) -> None:
        self._runtime = runtime
        self.clock = hands.clock
        self.waits: Waits = SYSTEM_WAITS
        self.pacer = Budgets(SYSTEM_WAITS.monotonic)
        self._held: RowJournal | None = None

    @property
    def ledger(self) -> Ledger:
        return self._runtime.store.ledger

    def take(self, delivery: Delivery) -> RowJournal:
        until = self.waits.monotonic() + LEASE / 1000
        self._held = RowJournal(delivery, self.ledger, self.waits, until, self.clock.now)
        return self._held

    def journal(self, delivery: Delivery) -> RowJournal:
        assert self._held is not None
        assert self._held.delivery.id == delivery.id
        return self._held

    async def card(self, request: str) -> Card | None:
        return await read_card(self._runtime.store, request)

    async def turn(self, delivery: Delivery) -> TurnView:
        return await turn_view(self._runtime, delivery, self.card)


@dataclass
class Stage:
    play: Playground
    runtime: Runtime
    desk: Desk
    hands: Hands
    api: SlackWeb
    around: Around
    options: SlackOptions = OPTIONS

    @property
    def store(self) -> MemoryStore:
        return cast("MemoryStore", self.runtime.store)

    @property
    def session(self) -> Session:
        return self.runtime.session("june", "s1")

    @property
    def team(self) -> str:
        return self.play.june.team or ""

    @property
    def me(self) -> Installed:
        june = self.play.june
        return Installed(key=self.team, app=june.app, team=self.team, bot_user=june.user)

    # -- the request -----------------------------------------------------------------------------------
    async def park(self, *, event: JsonObject | None = None) -> PendingInput:
        ada = f"slack:{self.team}:{self.play.ada.id}"
        speaker = None if event is None else Speaker(id=ada, name="ada", level="provider")
        given = TurnInput(message="refund 1042", turn_id="t1", event=event, speaker=speaker)
        await self.session.start(given)
        result = await self.session.result("t1")
        assert result.request is not None, result
        return result.request

    async def card(self, request: str) -> Card:
        card = await self.around.card(request)
        assert card is not None
        return card

    async def answer(
        self, request: PendingInput, value: Json, who: Person, reason: str = ""
    ) -> None:
        by = f"slack:{self.team}:{who.id}"
        granted = await self.session.grant(request.id, by=by)
        await self.session.resume(
            "t1", request.id, value, by=by, granted=granted, reason=reason or None
        )

    # -- its view ----------------------------------------------------------------------------------------
    def target(self, thread: str = "") -> JsonObject:
        return {
            "source": "slack",
            "installation": self.team,
            "channel": self.play.support.id,
            "thread_ts": thread,
        }

    async def open_view(self, request: str, target: JsonObject, lane: str = "lane") -> None:
        record = await self.store.turn(self.session.ref, "t1")
        assert record is not None
        row = DeliveryOpened(
            turn=record.row,
            part=f"card:{request}",
            source="slack",
            target=target,
            lane=lane,
            request=request,
            at=self.hands.now(),
        )
        await self.store.ledger.note([row])

    async def mark(self) -> None:
        record = await self.store.turn(self.session.ref, "t1")
        assert record is not None
        await self.store.ledger.note([DeliveryMark(turn=record.row, at=self.hands.now())])

    async def deliver(self) -> Delivery:
        """Deliver the row that is due, once; the row as it was left."""
        (row,) = await self.store.ledger.claim("o", ["slack"], self.hands.now(), LEASE, 1)
        held = self.around.take(row)
        around = cast("ChannelContext", self.around)
        try:
            there = await placed(row, around, None)
            await deliver_card(there, around, self.api, self.options)
        except BaseException:
            await held.put_back("due", error="later", next_try=self.hands.now())
            raise
        found = await self.store.ledger.delivery(row.id)
        assert found is not None
        return found

    async def look(self) -> None:
        """What the outbox does with a message of which it isn't known whether it was sent."""
        (row,) = await self.store.ledger.claim("o", ["slack"], self.hands.now(), LEASE, 1)
        held = self.around.take(row)
        (part,) = [one for one in row.parts if one.state == "opening"]
        found = await reconcile_card(row, self.api)
        assert isinstance(found, Sent | NotSent)
        sent = isinstance(found, Sent)
        ref = found.ref if isinstance(found, Sent) else None
        await held.record(replace(part, state="open" if sent else "gone", ref=ref))
        await held.put_back("due", error=None, next_try=self.hands.now())

    def cards(self) -> list[Shown]:
        """Messages of ours in #support."""
        return [one for one in self.play.slack.shown(self.play.support) if one.author == "june"]

    # -- what people press ---------------------------------------------------------------------------------
    def heard(self) -> Parsed:
        """The last thing that somebody did, as the gateway reads it."""
        sent = self.play.slack.journal.deliveries[-1]
        envelope = read_socket("interactive", sent.payload)
        assert isinstance(envelope, Envelope)
        return parse(envelope, self.me, self.options.rules)


@asynccontextmanager
async def stage(
    *, note: str = "", desk: Desk | None = None, options: SlackOptions = OPTIONS
) -> AsyncGenerator[Stage, None]:
    desk = desk or Desk()
    store, hands = MemoryStore(), Hands()
    await store.open()
    agent = AgentDef(
        name="june",
        model=_reply(note),
        tools={"refund": refund},
        services=desk,
        authorize_answer=_authorize,
    )
    roomy = EngineLimits(request_bytes=1 << 20)
    runtime = Runtime({"june": agent}, store, LocalSink(), limits=roomy, clock=hands.clock)
    async with playground(hands, limits=Limits(enabled=False)) as play, runtime:
        api = SlackWeb(OneToken(play.june.token), play.slack.api_url, waits=SYSTEM_WAITS)
        await api.open()
        try:
            yield Stage(play, runtime, desk, hands, api, Around(runtime, hands), options)
        finally:
            desk.gate.set()
            await api.close()
    await store.close()
