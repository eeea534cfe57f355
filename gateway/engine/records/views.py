"""What a store shows: to a decision under its lock, and to readers."""

from __future__ import annotations

from typing import Literal

from gateway.engine.kinds import (
    SessionRef,
)
from gateway.engine.records.companions import Audit, UsageRow
from gateway.engine.records.rows import (
    EventRow,
    MessageRow,
    RequestRecord,
    SessionRow,
    StepRow,
    TurnHead,
    TurnRecord,
    VoteRow,
)
from gateway.engine.struct import struct


@struct(frozen=True, slots=True, kw_only=True)
class LoggedEvent:
    """An event as read back: the row, the message it points at, the usage row it points at."""

    event: EventRow
    message: MessageRow | None = None
    usage: UsageRow | None = None


@struct(frozen=True, slots=True, kw_only=True)
class Ask:
    """Which rows a decision wants to see. ``lock="mailbox"`` serialises with other acceptances and
    parks but never waits for a tool's transaction; ``"session"`` also waits for the attempt's
    write under way."""

    lock: Literal["session", "mailbox"] = "session"
    turn_id: str | None = None
    head: bool = False
    """Show the session's oldest open turn as ``view.turn``."""
    tail: bool = False
    """Show the messages of ``view.turn`` from its last assistant message on, and its steps."""
    request: str | None = None
    create: bool = False
    """Create the session row if it doesn't exist (``view.session`` is never ``None`` then)."""


@struct(frozen=True, slots=True, kw_only=True)
class SessionView:
    """What the store shows a decision, read under the lock it asked for.

    ``open`` lists every queued, running or suspended turn by ``number``.
    """

    session: SessionRow | None
    open: tuple[TurnHead, ...] = ()
    turn: TurnRecord | None = None
    tail: tuple[MessageRow, ...] = ()
    steps: tuple[StepRow, ...] = ()
    request: RequestRecord | None = None
    votes: tuple[VoteRow, ...] = ()


@struct(frozen=True, slots=True, kw_only=True)
class OpenSession:
    """A session with work that waits for an attempt."""

    ref: SessionRef
    owner: str | None
    owner_alive: bool
    resetting: bool


@struct(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    row: SessionRow
    status: str
    turns: int
    pending: str | None
    """Public id of the open request, when suspended."""


@struct(frozen=True, slots=True, kw_only=True)
class TurnSummary:
    ref: SessionRef
    turn: TurnRecord
    opening: MessageRow | None
    """The opening message, once it is appended."""


@struct(frozen=True, slots=True, kw_only=True)
class RequestSummary:
    ref: SessionRef
    request: RequestRecord
    votes: int


@struct(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """An audit row as read back. ``number`` rises with each row of the store: it is the cursor."""

    number: int
    row: Audit
