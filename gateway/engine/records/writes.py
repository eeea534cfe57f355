"""What one transaction writes, and the sync tool that may run inside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from gateway.engine.kinds import (
    CancelReason,
    Millis,
    TurnRow,
)
from gateway.engine.records.companions import Companion, UsageRow
from gateway.engine.records.rows import (
    EditionRow,
    EventRow,
    MessageRow,
    RequestRecord,
    StepRow,
    TurnRecord,
    VoteRow,
)
from gateway.engine.struct import struct

T = TypeVar("T")


@struct(frozen=True, slots=True, kw_only=True)
class CancelMark:
    turn: TurnRow
    reason: CancelReason
    at: Millis


@struct(frozen=True, slots=True, kw_only=True)
class SessionPatch:
    """Changes to the session row. ``epoch`` raises the fence; a field left ``None`` stays."""

    epoch: int | None = None
    generation: int | None = None
    owner: str | None = None
    release: bool = False
    """Clear the owner: the attempt let go of the session on purpose."""
    reset_at: Millis | None = None
    clear_reset: bool = False


@struct(frozen=True, slots=True, kw_only=True)
class Writes:
    """All that one transaction writes, applied in the order of the fields."""

    session: SessionPatch | None = None
    new_turn: TurnRecord | None = None
    """Inserted with its ``number``; ``row`` is ``NEW_TURN`` and assigned by the store."""
    messages: tuple[MessageRow, ...] = ()
    steps: tuple[StepRow, ...] = ()
    """Upserted on (turn, step)."""
    usage: tuple[UsageRow, ...] = ()
    events: tuple[EventRow, ...] = ()
    turns: tuple[TurnRecord, ...] = ()
    opened: tuple[TurnRecord, ...] = ()
    """Turns whose opening message is among ``messages``: their ``content`` goes."""
    cancels: tuple[CancelMark, ...] = ()
    requests: tuple[RequestRecord, ...] = ()
    """Upserted on ``key``."""
    votes: tuple[VoteRow, ...] = ()
    editions: tuple[EditionRow, ...] = ()
    """Inserted unless present: they are content-addressed."""
    companions: tuple[Companion, ...] = ()


NO_WRITES = Writes()


@struct(frozen=True, slots=True)
class Plan(Generic[T]):
    """A decision's outcome: what to write, and what to tell the caller once it is durable."""

    result: T
    writes: Writes = NO_WRITES
    named: Callable[[T, TurnRow], T] | None = None
    """Puts the new turn's number into a result that speaks of it."""


class SqlHandle(Protocol):
    """The guarded view of the backend's own handle that a sync tool gets.

    ``?`` marks a parameter on every backend. Valid only during the tool's own call.
    """

    @property
    def dialect(self) -> str: ...
    def execute(self, sql: str, parameters: tuple[object, ...] | list[object] = ()) -> Rows: ...
    def executemany(self, sql: str, parameters: list[tuple[object, ...]]) -> Rows: ...


class Rows(Protocol):
    """The result of one statement: a cursor's reading half. Rows are tuples."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> tuple[object, ...] | None: ...
    def fetchall(self) -> list[tuple[object, ...]]: ...


@struct(frozen=True, slots=True)
class LocalCall:
    """A sync tool's call, to run inside the store's own transaction.

    The store calls ``run(handle)`` (``None`` where it has no handle) inside a savepoint. If it
    raises, its writes are rolled back. Then ``settle(result or exception)`` says what to write in
    the same transaction. Both may be called again when a neighbour lost the shared transaction.
    """

    tool: str
    turn_id: str
    run: Callable[[SqlHandle | None], object]
    settle: Callable[[object, BaseException | None], Writes]
