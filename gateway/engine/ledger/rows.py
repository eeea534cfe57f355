"""The rows of the ways in and out.

A delivery is a view, not a message: it says that a place has to show the state of a turn (or of one
of its requests). A fact only raises ``wanted``; who sends renders from the state of that moment and
records how much of ``wanted`` that satisfied.
"""

from __future__ import annotations

from typing import Literal

from gateway.engine.kinds import JsonObject, Millis, TurnRow
from gateway.engine.struct import struct

DeliveryState = Literal["due", "sending", "resting", "done", "dead", "silent"]
"""``due`` waits for a sender, ``sending`` has one; these two hold their lane. ``resting`` shows what
is wanted and may be woken, ``done`` shows the end, ``silent`` has nothing to show, ``dead`` can't be
delivered until somebody retries it."""

SettledState = Literal["due", "resting", "done", "dead", "silent"]
PartKind = Literal["stream", "post", "card", "note", "file", "remind"]
PartState = Literal["opening", "live", "broken", "open", "final", "gone"]
"""``opening``: meant to be sent, outcome not known. ``live``: a stream that takes more. ``broken``:
there, but not saying what it should. ``open``: a message that is rewritten. ``final``: done with.
``gone``: no longer there."""

BindingKind = Literal["thread", "root", "post"]
InstallationState = Literal["active", "revoked", "uninstalled"]
Outcome = Literal["fired", "skipped", "failed"]
"""What came of a schedule's tick: a turn, nothing on purpose, or nothing although it should have."""


# -- the way out -----------------------------------------------------------------------------------
@struct(frozen=True, slots=True, kw_only=True)
class Part:
    """One message of a delivery, as far as the platform told us. ``start`` to ``end`` is the slice of
    the source text it carries, ``acked`` how far the platform confirmed it, ``hash`` the digest of
    that slice. ``nonce`` is made before the send, to find the message by if its answer is lost."""

    delivery: int
    n: int
    kind: PartKind
    state: PartState
    ref: str | None = None
    nonce: str
    start: int = 0
    end: int = 0
    acked: int = 0
    hash: str = ""
    attempt: int = 0
    opened_at: Millis
    started_at: Millis | None = None
    extra: str | None = None


@struct(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A view and what became of it.

    ``wanted`` counts what there was to tell, ``shown`` how much of that the place shows; ``seq`` is
    the last event of the turn that it shows and ``hash`` the digest of what it says. ``lane`` orders
    rows: one at a time, the oldest first. ``token`` is the right to write: it rises with each claim.
    ``next_try`` goes by the caller's clock, leases by the store's own.
    """

    id: int
    agent: str
    session: str
    turn: TurnRow
    turn_id: str
    part: str
    source: str
    target: JsonObject
    lane: str
    request: str | None
    state: DeliveryState
    wanted: int
    shown: int
    hash: str | None
    seq: int
    ref: str | None
    attempts: int
    """Claims since the place last showed what was wanted, or since the last mark."""
    next_try: Millis
    error: str | None
    revive_on: str | None
    """What would bring a dead one back."""
    remind_at: Millis | None
    """When a resting one is woken although nothing happened."""
    token: int
    at: Millis
    parts: tuple[Part, ...] = ()
    recovered: bool = False
    """Of a claim only: whoever held the row before let its lease lapse instead of settling it."""


@struct(frozen=True, slots=True, kw_only=True)
class Binding:
    """Which session a place belongs to. The first binding of a place stays."""

    place: str
    agent: str
    session: str
    turn: TurnRow | None = None
    kind: BindingKind
    at: Millis


@struct(frozen=True, slots=True, kw_only=True)
class Receipt:
    """How a claimed delivery is let go of.

    ``satisfied`` is the ``wanted`` that was rendered. When more is wanted by now, ``resting``,
    ``done`` and ``silent`` become ``due`` at once. ``hash``, ``ref``, ``lane`` and ``next_try`` stay
    as they are when ``None``; ``error``, ``revive_on`` and ``remind_at`` are set as given.
    """

    delivery: int
    token: int
    satisfied: int
    state: SettledState
    seq: int
    hash: str | None = None
    ref: str | None = None
    lane: str | None = None
    next_try: Millis | None = None
    error: str | None = None
    revive_on: str | None = None
    places: tuple[Binding, ...] = ()
    remind_at: Millis | None = None


# -- the way in ------------------------------------------------------------------------------------
@struct(frozen=True, slots=True, kw_only=True)
class InboxRow:
    """An event that was acknowledged and is still to be acted on. ``body`` is JSON text, gone once
    the row is settled for good; ``token`` the right to settle it."""

    id: int
    source: str
    event_id: str
    kind: str
    body: str
    attempts: int
    token: int
    at: Millis


@struct(frozen=True, slots=True, kw_only=True)
class VerdictRow:
    """How an event was judged; ``copies`` counts how often it came. ``agent``, ``session`` and
    ``turn_id`` are those of the turn it opened, if it did."""

    source: str
    event_id: str
    verdict: str
    rule: str
    place: str | None
    speaker: str | None
    agent: str | None
    session: str | None
    turn_id: str | None
    said: str | None
    copies: int
    at: Millis


@struct(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A dedupe key that is taken, with the turn that took it. It holds until ``expires_at``."""

    key: str
    turn: TurnRow | None
    agent: str | None
    session: str | None
    turn_id: str | None
    expires_at: Millis


@struct(frozen=True, slots=True, kw_only=True)
class Pair:
    """How often something was let in since a moment: a bot's words without a person in between, or mail of
    one sender."""

    pair: str
    n: int
    first_at: Millis
    last_at: Millis


@struct(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a decision about one event wants to know."""

    source: str
    event_id: str
    keys: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()


@struct(frozen=True, slots=True, kw_only=True)
class Known:
    """What of it there is, each in the order that was asked for, and what doesn't exist left out."""

    verdict: VerdictRow | None = None
    bindings: tuple[Binding, ...] = ()
    claims: tuple[Claimed, ...] = ()
    pairs: tuple[Pair, ...] = ()


# -- shared ----------------------------------------------------------------------------------------
@struct(frozen=True, slots=True, kw_only=True)
class Installation:
    """A workspace that lets us in. ``sealed`` holds its tokens, encrypted; ``scopes`` is separated by
    commas. ``version`` rises with every save."""

    key: str
    app: str
    team: str | None = None
    enterprise: str | None = None
    org: bool = False
    bot_user: str | None = None
    bot_id: str | None = None
    scopes: str | None = None
    state: InstallationState = "active"
    expires_at: Millis | None = None
    sealed: bytes
    version: int = 0


@struct(frozen=True, slots=True, kw_only=True)
class FileRow:
    """A file that came in or goes out; its bytes stand beside it."""

    id: str
    name: str
    media_type: str
    size: int
    hash: str
    turn: TurnRow | None = None
    at: Millis


@struct(frozen=True, slots=True, kw_only=True)
class Document:
    """A small thing that the host keeps, by kind and key: the state of a schedule, a user, a web
    session, a link for one use. ``version`` rises with every save. From ``expires`` on, by the
    store's clock, it is as if it weren't there."""

    kind: str
    key: str
    version: int = 0
    body: JsonObject
    expires: Millis | None = None


@struct(frozen=True, slots=True, kw_only=True)
class OccurrenceRow:
    """One tick of a schedule and what came of it. ``session`` and ``turn_id`` are those of the turn
    it began, if it did and if that is still known."""

    agent: str
    schedule: str
    due: Millis
    outcome: Outcome
    turn: TurnRow | None
    turn_id: str | None
    session: str | None
    by: str
    why: str
    at: Millis


@struct(frozen=True, slots=True, kw_only=True)
class Retention:
    """What may be forgotten: rows whose last use is before these moments, ``limit`` of each kind at a
    time. Open work is kept however old it is."""

    claims: Millis
    """Claims that expired before."""
    verdicts: Millis
    inbox: Millis
    deliveries: Millis
    places: Millis
    pairs: Millis
    files: Millis
    documents: Millis
    """Documents that expired before."""
    occurrences: Millis
    limit: int = 1000
