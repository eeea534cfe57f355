"""What drives an agent's turns from code, for an embedder and for a channel alike."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import cast

from channels.contract import Parsed, Replace, Verdict
from channels.protocol import Card, Journal, Pacer, Sealer, TurnView, WhenSuspended
from gateway.approvals.reading import read_card
from gateway.engine.decisions.keys import new_turn_id
from gateway.engine.events import TurnEvent
from gateway.engine.kinds import Effect, Json
from gateway.engine.ledger import Delivery, Ledger
from gateway.engine.limits import SYSTEM_WAITS, Clock, Waits
from gateway.engine.outcomes import Answered, Grant, Reset, Started, TurnInput, TurnResult
from gateway.engine.ports import Subscription
from gateway.engine.runtime import Runtime
from gateway.engine.session import Session
from gateway.engine.struct import replace as with_changes
from gateway.engine.struct import struct
from gateway.host.channels.delivering import check_delivered, delivered_by, with_delivery
from gateway.host.channels.registry import Registry
from gateway.host.metrics import Metrics
from gateway.host.stream import at_rest
from gateway.intake.receive import Intake
from gateway.outbox.view import turn_view
from gateway.outbox.worker import Outbox


class Context:
    """Drives an agent's turns. What is started carries ``source``, unless it says otherwise."""

    def __init__(
        self, runtime: Runtime, agent: str, registry: Registry | None = None, source: str = "api"
    ) -> None:
        self._runtime = runtime
        self._agent = agent
        self._registry = registry or Registry()
        self._source = source

    def session(self, key: str) -> Session:
        return self._runtime.session(self._agent, key)

    async def run(
        self,
        message: str | TurnInput,
        *,
        session: str,
        replace: Replace = False,
        when_suspended: WhenSuspended = "raise",
    ) -> TurnResult:
        """Start a turn and wait until it rests: ended, or parked."""
        started = await self.run_detached(
            message, session=session, replace=replace, when_suspended=when_suspended
        )
        return await self.session(session).result(started.turn_id)

    async def run_detached(
        self,
        message: str | TurnInput,
        *,
        session: str,
        replace: Replace = False,
        when_suspended: WhenSuspended = "raise",
    ) -> Started:
        """Start a turn; it is committed when this returns, and runs whoever watches."""
        return await self.session(session).start(
            self._input(message), replace=replace, when_suspended=when_suspended
        )

    async def run_stream(
        self,
        message: str | TurnInput,
        *,
        session: str,
        replace: Replace = False,
        when_suspended: WhenSuspended = "raise",
    ) -> AsyncIterator[TurnEvent]:
        """Start a turn and yield its events up to the terminal one or an open request."""
        given = self._input(message)
        turn_id = given.turn_id or new_turn_id()
        async with self.session(session).listen(turn_id) as live:
            started = await self.run_detached(
                with_changes(given, turn_id=turn_id),
                session=session,
                replace=replace,
                when_suspended=when_suspended,
            )
            heard = live if started.created else None
            async for event in self._follow(session, turn_id, after=0, live=heard):
                yield event

    async def run_delivered(
        self,
        message: str | TurnInput,
        *,
        session: str,
        replace: Replace = False,
        when_suspended: WhenSuspended = "raise",
    ) -> Started:
        """Start a turn that a channel renders where its ``target`` says. Raises
        ``DeliverUnsupportedError``, and nothing was started then."""
        given = self._input(message)
        self._registry.check_delivers(delivered_by(given))
        return await self.run_detached(
            with_delivery(given, self._runtime.clock.now()),
            session=session,
            replace=replace,
            when_suspended=when_suspended,
        )

    async def resume_stream(  # noqa: PLR0913 - an answer has these parts
        self,
        turn_id: str,
        input_id: str,
        value: Json,
        *,
        session: str,
        by: str | None = None,
        granted: Grant | None = None,
        reason: str | None = None,
        digest: str | None = None,
    ) -> AsyncIterator[TurnEvent]:
        """Answer what a turn waits on and yield what comes of it."""
        opened = self.session(session)
        seen = (await opened.snapshot(turn_id)).last_seq
        answered = await opened.resume(
            turn_id, input_id, value, by=by, granted=granted, reason=reason, digest=digest
        )
        if answered.decided:
            async for event in self._follow(session, turn_id, after=seen):
                yield event

    async def resume_delivered(  # noqa: PLR0913 - an answer has these parts
        self,
        turn_id: str,
        input_id: str,
        value: Json,
        *,
        session: str,
        by: str | None = None,
        granted: Grant | None = None,
        reason: str | None = None,
        digest: str | None = None,
    ) -> Answered:
        """Answer what a turn waits on; its channel renders what comes of it. Raises
        ``DeliverUnsupportedError``, and nothing was answered then."""
        opened = self.session(session)
        await check_delivered(self._runtime, self._registry, opened, turn_id)
        return await opened.resume(
            turn_id, input_id, value, by=by, granted=granted, reason=reason, digest=digest
        )

    async def reset_session(self, session: str) -> Reset:
        return await self.session(session).reset()

    def _input(self, message: str | TurnInput) -> TurnInput:
        if isinstance(message, TurnInput):
            return message
        return TurnInput(message=message, source=self._source)

    async def _follow(
        self, key: str, turn_id: str, after: int, live: Subscription | None = None
    ) -> AsyncIterator[TurnEvent]:
        opened = self.session(key)
        last = at_rest(opened, turn_id)
        events = opened.observe(turn_id, after=after, live=live)
        async with aclosing(cast("AsyncGenerator[TurnEvent, None]", events)) as source:
            async for event in source:
                yield event
                if await last(event):
                    return


# -- a channel's own -----------------------------------------------------------------------------------
@struct(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a host gives all of its channels."""

    registry: Registry
    metrics: Metrics
    waits: Waits = SYSTEM_WAITS
    sealer: Sealer | None = None
    public_url: str | None = None


class ChannelRoom(Context):
    """One channel's way into the gateway: a ``ChannelContext``."""

    def __init__(
        self,
        runtime: Runtime,
        agent: str,
        source: str,
        intake: Intake,
        outbox: Outbox,
        around: Surroundings,
    ) -> None:
        super().__init__(runtime, agent, around.registry, source)
        self._intake = intake
        self._outbox = outbox
        self._around = around

    @property
    def agent(self) -> str:
        return self._agent

    @property
    def clock(self) -> Clock:
        return self._runtime.clock

    @property
    def waits(self) -> Waits:
        return self._around.waits

    @property
    def ledger(self) -> Ledger:
        return self._runtime.store.ledger

    @property
    def pacer(self) -> Pacer:
        return self._outbox.pacer

    @property
    def sealer(self) -> Sealer | None:
        return self._around.sealer

    @property
    def public_url(self) -> str | None:
        return self._around.public_url

    def effect(self, tool: str) -> Effect | None:
        found = self._runtime.agents[self._agent].tools.get(tool)
        return None if found is None else found.effect

    async def receive(self, parsed: Parsed) -> Verdict:
        verdict = await self._intake.receive(parsed)
        self._around.metrics.verdict(self._source, verdict.word)
        return verdict

    def journal(self, delivery: Delivery) -> Journal:
        return self._outbox.journal(delivery)

    async def turn(self, delivery: Delivery) -> TurnView:
        return await turn_view(self._runtime, delivery, self.card)

    async def card(self, request: str) -> Card | None:
        return await read_card(self._runtime.store, request)
