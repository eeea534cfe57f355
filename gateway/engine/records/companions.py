"""Typed rows that commit in the same transaction as the fact they belong to."""

from __future__ import annotations

from typing import ClassVar, Literal, Protocol

from gateway.engine.kinds import (
    JsonObject,
    Millis,
    TurnRow,
)
from gateway.engine.struct import struct


class Companion(Protocol):
    """A typed row that commits in the same transaction as the fact it belongs to.

    ``TABLE`` names the table it is written to. Those in ``COMPANIONS`` are inserted, one column per
    field, in field order; those in ``WAYS`` say for themselves what they change.
    """

    TABLE: ClassVar[str]


@struct(frozen=True, slots=True, kw_only=True)
class Claim:
    """A dedupe key. A key that is claimed already and not expired raises ``DuplicateClaimError``
    and nothing of the ``Writes`` is applied."""

    TABLE: ClassVar[str] = "claims"
    key: str
    turn: TurnRow | None
    at: Millis
    expires_at: Millis


@struct(frozen=True, slots=True, kw_only=True)
class UsageRow:
    """One model call. ``step`` is the index of the assistant message it produced; for a call that came
    to nothing, minus its place among the turn's calls (-1 for the first). ``cost`` is a decimal in
    US dollars as text; ``raw`` the provider's own record as JSON; ``estimated`` marks a cut stream."""

    TABLE: ClassVar[str] = "usage"
    turn: TurnRow
    step: int
    at: Millis
    model: str
    input: int
    output: int
    cache_read: int
    cache_write: int
    cost: str | None
    prices: str | None
    raw: str | None
    estimated: bool


@struct(frozen=True, slots=True, kw_only=True)
class Audit:
    """Who did what, without message text. Append-only; no foreign key into conversations."""

    TABLE: ClassVar[str] = "audit"
    at: Millis
    kind: str
    agent: str
    session: str
    turn_id: str
    subject: str
    by: str | None
    digest: str | None
    outcome: str


@struct(frozen=True, slots=True, kw_only=True)
class Reservation:
    TABLE: ClassVar[str] = "reservations"
    turn: TurnRow
    scope: str
    amount: str
    expires_at: Millis


# -- the ways in and out: what commits with an event's acceptance, a park, an ending ---------------
DAY = Millis(86_400_000)


@struct(frozen=True, slots=True, kw_only=True)
class VerdictMade:
    """How an event was judged. The first verdict of an event stays, and what comes after it counts
    as a copy, unless it ``revises``: then it takes the place of what was said while the event was
    held."""

    TABLE: ClassVar[str] = "verdicts"
    source: str
    event_id: str
    verdict: str
    rule: str
    place: str | None = None
    speaker: str | None = None
    turn: TurnRow | None = None
    said: str | None = None
    at: Millis
    revises: bool = False


@struct(frozen=True, slots=True, kw_only=True)
class DeliveryOpened:
    """A place has to show the state of this turn, or of one ``request`` of it. Opening what is open
    already asks for another look at it, like a mark."""

    TABLE: ClassVar[str] = "deliveries"
    turn: TurnRow
    part: str
    source: str
    target: JsonObject
    lane: str
    request: str | None = None
    remind_at: Millis | None = None
    at: Millis


@struct(frozen=True, slots=True, kw_only=True)
class DeliveryMark:
    """Something about the turn is to be told: every view of it wants another look, and those that
    rest, are done or had nothing to show are due. A dead one stays dead."""

    TABLE: ClassVar[str] = "deliveries"
    turn: TurnRow
    at: Millis


@struct(frozen=True, slots=True, kw_only=True)
class PlaceBound:
    """A place belongs to this session from now on. One that belongs to a session already stays with
    it; only its last use is noted."""

    TABLE: ClassVar[str] = "places"
    place: str
    agent: str
    session: str
    kind: Literal["thread", "root", "post"]
    turn: TurnRow | None = None
    at: Millis


@struct(frozen=True, slots=True, kw_only=True)
class PairSeen:
    """A bot of this pair spoke once more; what is older than ``window`` no longer counts. With
    ``reset`` a person spoke: ``pair`` and all that begin with it and a colon start from nothing."""

    TABLE: ClassVar[str] = "pairs"
    pair: str
    reset: bool = False
    window: Millis = DAY
    at: Millis


@struct(frozen=True, slots=True, kw_only=True)
class Held:
    """An event to be acted on later: due at ``next_try``, or at once. One that is held or was acted
    on already stays as it is."""

    TABLE: ClassVar[str] = "inbox"
    source: str
    event_id: str
    kind: str
    body: str
    next_try: Millis | None = None
    at: Millis


@struct(frozen=True, slots=True, kw_only=True)
class OccurrenceKept:
    """What came of a schedule's tick. A tick has one outcome: a second one raises
    ``DuplicateClaimError`` and nothing of its transaction is kept."""

    TABLE: ClassVar[str] = "occurrences"
    agent: str
    schedule: str
    due: Millis
    outcome: Literal["fired", "skipped", "failed"]
    turn: TurnRow | None = None
    by: str
    why: str = ""
    at: Millis

    @property
    def key(self) -> str:
        """How the refusal of a second one names it."""
        return f"tick:{self.agent}:{self.schedule}:{self.due}"


COMPANIONS: tuple[type[Companion], ...] = (Claim, UsageRow, Audit, Reservation)
WAYS: tuple[type[Companion], ...] = (
    VerdictMade,
    DeliveryOpened,
    DeliveryMark,
    PlaceBound,
    PairSeen,
    Held,
    OccurrenceKept,
)
