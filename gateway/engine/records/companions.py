"""Typed rows that commit in the same transaction as the fact they belong to."""

from __future__ import annotations

from typing import ClassVar, Protocol

from gateway.engine.kinds import (
    Millis,
    TurnRow,
)
from gateway.engine.struct import struct


class Companion(Protocol):
    """A typed row that commits in the same transaction as the fact it belongs to.

    Stores insert it into the table named ``TABLE``, one column per field, in field order.
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
class Verdict:
    TABLE: ClassVar[str] = "verdicts"
    event_id: str
    source: str
    verdict: str
    rule: str
    turn: TurnRow | None
    at: Millis


@struct(frozen=True, slots=True, kw_only=True)
class Delivery:
    TABLE: ClassVar[str] = "deliveries"
    turn: TurnRow
    part: str
    target: str
    state: str
    at: Millis


@struct(frozen=True, slots=True, kw_only=True)
class UsageRow:
    """``step`` is the index of the assistant message the call produced. ``cost`` is a decimal in
    US dollars as text; ``raw`` the provider's own record as JSON."""

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


COMPANIONS: tuple[type[Companion], ...] = (Claim, Verdict, Delivery, UsageRow, Audit, Reservation)
