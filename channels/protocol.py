"""What a channel is, and what it is handed: the two halves of the bargain between a platform's folder and
the gateway around it.

A channel knows its platform and nothing of sessions; the gateway knows sessions and nothing of platforms.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Literal, Protocol

from channels.contract import Control, Parsed, Replace, Route, SentOrNot, Verdict
from channels.views import Asked, CallState, Card, Decider, TurnView
from gateway.engine.events import TurnEvent
from gateway.engine.kinds import (
    Effect,
    Json,
    JsonObject,
    Millis,
    Speaker,
)
from gateway.engine.ledger import Binding, Delivery, Ledger, Part, SettledState
from gateway.engine.limits import Clock, Waits
from gateway.engine.outcomes import Answered, Grant, Reset, Started, TurnInput, TurnResult
from gateway.engine.struct import struct
from gateway.engine.tool import Tool

__all__ = [
    "CARD",
    "NOTE_LANE",
    "QUEUED",
    "REPLY",
    "Asked",
    "CallState",
    "Card",
    "Channel",
    "ChannelContext",
    "Conversing",
    "Decider",
    "Journal",
    "PaceKey",
    "Pacer",
    "Person",
    "Sealer",
    "TurnStream",
    "TurnView",
    "WhenSuspended",
]

TurnStream = AsyncIterator[TurnEvent]
"""A turn's events from a delivery's ``seq`` on, in order and without a gap; it ends at the terminal event
or while a request is open. Text that isn't committed yet may come again in other words."""

WhenSuspended = Literal["raise", "queue"]
PaceKey = tuple[str, str, str]
"""Installation, method, and what the platform counts beside them (a channel's id), or nothing."""


REPLY, QUEUED, CARD = "reply", "note:queued", "card:"
"""Parts of a turn (``Delivery.part``): its answer, the line to somebody whose turn waits behind a decision,
and, by the request that follows, the card of one request."""

NOTE_LANE = "#note"
"""Ends the lane of the second, which doesn't wait for what it is about."""


# -- what delivering writes down -------------------------------------------------------------------------
class Journal(Protocol):
    """One claimed delivery, as long as this process may write to it.

    Every method raises ``LeaseLostError`` once somebody else may have taken the delivery: who gets that
    stops, and leaves the rest to them.
    """

    @property
    def parts(self) -> Sequence[Part]:
        """By number. The sequence that a renderer holds doesn't change; ask again after a write."""
        ...

    @property
    def wanted(self) -> int:
        """How much there is to tell by now, as of the last write."""
        ...

    @property
    def recovered(self) -> bool:
        """Whoever held the delivery before didn't let go of it in order: what a live part shows may be
        more than its row says."""
        ...

    def outlasts(self, seconds: float) -> None:
        """Make sure that the right to write holds for a call of this length, before it is made."""
        ...

    async def record(self, *parts: Part) -> None:
        """Write parts, each over the one with its number. Before a call that can't be made twice, the
        part it would make is written as ``opening``."""
        ...

    async def settle(  # noqa: PLR0913 - a receipt has these parts
        self,
        state: SettledState,
        *,
        satisfied: int,
        seq: int,
        hash: str | None = None,  # noqa: A002
        ref: str | None = None,
        lane: str | None = None,
        places: tuple[Binding, ...] = (),
        remind_at: Millis | None = None,
    ) -> None:
        """Let go, with a receipt: ``satisfied`` is the ``wanted`` that what is shown was rendered from.
        Nothing can be written after it."""
        ...


class Pacer(Protocol):
    """Keeps calls below what the platform allows, over all that this process sends."""

    def ready(self, key: PaceKey) -> float:
        """Seconds until a call is within its budget; 0 for now."""
        ...

    def take(self, key: PaceKey) -> None:
        """A call is made."""
        ...

    def penalise(self, key: PaceKey, seconds: float) -> None:
        """The platform refused one and said for how long."""
        ...


class Sealer(Protocol):
    """Encrypts what must not lie readable in a database. ``about`` names what it belongs to: sealed for
    one thing, it doesn't open as another."""

    def seal(self, plain: bytes, about: str) -> bytes: ...

    def open(self, sealed: bytes, about: str) -> bytes:
        """Raises ``ConfigError`` when no key that is configured opens it."""
        ...


# -- the bargain -------------------------------------------------------------------------------------------
class ChannelContext(Protocol):
    """What the gateway does for a channel. Everything that reaches the store raises
    ``StoreUnavailableError`` when it can't answer now; a webhook answers that with 503, so that the
    platform sends again."""

    @property
    def agent(self) -> str: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def waits(self) -> Waits: ...

    @property
    def ledger(self) -> Ledger: ...

    @property
    def pacer(self) -> Pacer: ...

    @property
    def sealer(self) -> Sealer | None:
        """``None`` without ``GATEWAY_SECRET_KEYS``."""
        ...

    @property
    def public_url(self) -> str | None:
        """Where the world reaches this host, without a slash at the end."""
        ...

    def effect(self, tool: str) -> Effect | None:
        """What a call of this tool does; ``None`` for one that the agent doesn't have any more."""
        ...

    # -- the way in ------------------------------------------------------------------------------------
    async def receive(self, parsed: Parsed) -> Verdict:
        """Judge a verified event. When this returns, the verdict and all that follows from it are
        committed, and the platform may be told so."""
        ...

    async def run(
        self,
        message: str | TurnInput,
        *,
        session: str,
        replace: Replace = False,
        when_suspended: WhenSuspended = "raise",
    ) -> TurnResult:
        """Start a turn and wait until it rests: ended, or parked."""
        ...

    def run_stream(
        self,
        message: str | TurnInput,
        *,
        session: str,
        replace: Replace = False,
        when_suspended: WhenSuspended = "raise",
    ) -> TurnStream:
        """Start a turn and yield its events up to the terminal one or an open request."""
        ...

    async def run_detached(
        self,
        message: str | TurnInput,
        *,
        session: str,
        replace: Replace = False,
        when_suspended: WhenSuspended = "raise",
    ) -> Started:
        """Start a turn; it is committed when this returns."""
        ...

    async def run_delivered(
        self,
        message: str | TurnInput,
        *,
        session: str,
        replace: Replace = False,
        when_suspended: WhenSuspended = "raise",
    ) -> Started:
        """Start a turn that its channel renders where its ``target`` says. Raises
        ``DeliverUnsupportedError``, and nothing was started then."""
        ...

    def resume_stream(  # noqa: PLR0913 - an answer has these parts
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
    ) -> TurnStream:
        """Answer what a turn waits on and yield what comes of it."""
        ...

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
        ...

    async def reset_session(self, session: str) -> Reset: ...

    # -- the way out -----------------------------------------------------------------------------------
    def journal(self, delivery: Delivery) -> Journal:
        """The journal of a delivery that this process has claimed."""
        ...

    async def turn(self, delivery: Delivery) -> TurnView: ...

    async def card(self, request: str) -> Card | None: ...


class Channel(Protocol):
    source: str
    """The name its turns carry, which a sender can't choose."""
    tools: Sequence[Tool]
    """Tools that its turns get, and no others."""

    def routes(self) -> Iterable[Route]:
        """Webhooks below ``/channels/<source>``."""
        ...

    async def start(self, ctx: ChannelContext) -> None:
        """Once per process, before anything else; connections of its own begin here."""
        ...

    async def stop(self) -> None: ...

    async def deliver(self, events: TurnStream, delivery: Delivery, ctx: ChannelContext) -> None:
        """Show the state of a turn, or of one request of it, where ``delivery.target`` says, and settle
        it in ``ctx.journal(delivery)``.

        Raises ``RetryLater``, ``Undeliverable`` or ``LeaseLostError``, nothing else.
        """
        ...

    async def deliver_resume(
        self, events: TurnStream, delivery: Delivery, ctx: ChannelContext
    ) -> None:
        """The same for a delivery that has shown something before: ``events`` begin behind
        ``delivery.seq``."""
        ...

    async def reconcile(self, delivery: Delivery) -> SentOrNot:
        """What became of the part whose send was begun and never confirmed (state ``opening``)."""
        ...


@struct(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody as their platform knows them, once it was asked. ``speaker`` is their one identity,
    whichever event named them. A ``member`` is one of ours; an ``outsider`` is a guest, or of another
    organisation; ``nobody`` is a bot, or somebody whose account is gone."""

    speaker: Speaker
    standing: Literal["member", "outsider", "nobody"]


class Conversing(Channel, Protocol):
    """A channel on which people press buttons, and are told privately what came of it."""

    async def say(self, reply: JsonObject, words: str) -> None:
        """Tell one person something, where ``reply`` (of what they did) says. At most once, and without
        an error to anybody if it can't be told."""
        ...

    async def person(self, by: Speaker, reply: JsonObject) -> Person | None:
        """Who did something: ``by`` is what its event said of them, ``reply`` (or a turn's ``target``)
        where it came from. ``None``: it can't be told now, and nothing may be done on their word."""
        ...

    def opens(self, policy: str) -> bool:
        """Whether outsiders may decide about this, too."""
        ...

    def deciders(self, answerers: JsonObject) -> str:
        """Who may decide, in words for a person of this platform."""
        ...

    async def act(self, control: Control, card: Card | None) -> None:
        """Do what concerns no turn: show all arguments, open a form, greet, note that the app is gone.
        ``card`` is the request that it names. Raises ``RetryLater``."""
        ...
