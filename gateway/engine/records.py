"""The rows that cross the store seam. Stores keep them; only the engine gives them meaning.

Every write the engine makes is one ``Writes``: the store applies it whole, in one transaction, or
not at all. Bodies are JSON text, serialised once by ``gateway.engine.wire``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Generic, Literal, Protocol, TypeVar

from gateway.engine.kinds import (
    CancelReason,
    Millis,
    Outcome,
    Role,
    SessionId,
    SessionRef,
    TurnRow,
    TurnState,
)

T = TypeVar("T")

PARKED = "parked"
NEW_TURN = TurnRow(0)
"""In a companion or event: the turn that the same ``Writes`` inserts."""


@dataclass(frozen=True, slots=True)
class Fence:
    """The right to write for one attempt: valid while the session's epoch is this one."""

    session: SessionId
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One session. ``next_index`` is the index the next message of this generation gets;
    ``reset_at`` is set while a reset waits for the running turn to stop."""

    id: SessionId
    ref: SessionRef
    generation: int
    epoch: int
    owner: str | None
    owner_alive: bool
    next_index: int
    next_number: int
    reset_at: Millis | None = None
    created_at: Millis
    active_at: Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnHead:
    """What a decision about a session needs to know of each open turn."""

    row: TurnRow
    turn_id: str
    number: int
    generation: int
    state: TurnState
    cancel: CancelReason | None
    source: str
    speaker: str | None
    last_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    """One turn.

    ``row`` to ``queued_at`` are written once, at acceptance. ``cancel``/``cancel_at`` are written
    by whoever asks (``Writes.cancels``). All that follows is saved whole by ``Writes.turns``.
    ``last_seq`` is read off the event log, never stored here.
    """

    row: TurnRow
    turn_id: str
    number: int
    generation: int
    body: str
    """JSON: trigger, by, source, trust, speaker, event, target."""
    content: str | None = None
    """JSON: the blocks of the opening, until the opening message holds them (``Writes.opened``)."""
    content_hash: str
    source: str
    speaker: str | None
    queued_at: Millis

    cancel: CancelReason | None = None
    cancel_at: Millis | None = None

    state: TurnState = "queued"
    surface: str | None = None
    """JSON: the policy of the source, as frozen when the turn first began."""
    edition: str | None = None
    opening: int | None = None
    """Index of the opening message once it is appended."""
    started_at: Millis | None = None
    ended_at: Millis | None = None
    attempt_at: Millis | None = None
    """When the attempt under way began; cleared when it lets go of the turn."""
    ran: Millis = Millis(0)
    """Running time of finished attempts; queued, parked and down time don't count."""
    attempts: int = 0
    crashes: int = 0
    """Process deaths while this turn ran alone, since its last new checkpoint."""
    suspect: int = 0
    """Process deaths while this turn ran beside others, since its last new checkpoint."""
    alone: bool = False
    request: str | None = None
    """Public id of the open input request while suspended."""
    answer: int | None = None
    """Index of the message that completed the turn."""
    error: str | None = None
    """JSON: message, phase, step or deadline."""

    last_seq: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRow:
    generation: int
    index: int
    turn: TurnRow
    turn_id: str = ""
    """Filled on reading; not stored twice."""
    role: Role
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """A memoised step. ``started`` is written before an async call runs, ``done`` replaces it."""

    turn: TurnRow
    step: str
    done: bool
    attempt: int
    message: int | None = None
    """Index of the message that holds the result."""
    body: str | None = None
    """The result itself while its message can't be appended yet (parallel calls); ``PARKED`` on a
    started call that let go of its own accord, to wait for a person."""
    at: Millis

    @property
    def lost(self) -> bool:
        """The call had started and nothing is known of its end."""
        return not self.done and self.body is None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """A durable event. ``ref`` points at the message (or usage row) that holds its content."""

    turn: TurnRow
    seq: int
    at: Millis
    type: str
    ref: int | None = None
    body: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedEvent:
    """An event as read back: the row, the message it points at, the usage row it points at."""

    event: EventRow
    message: MessageRow | None = None
    usage: UsageRow | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """One request for a person's input. ``key`` is ``input:<turn_id>:<n>:<call>:<name>``; a request
    that parks anew under the same key with another digest replaces it under a new ``id``."""

    id: str
    key: str
    turn: TurnRow
    turn_id: str
    position: int
    call_id: str
    name: str
    tool: str
    digest: str
    body: str
    """JSON: prompt, schema, answerers, arguments, on_expiry."""
    created_at: Millis
    expires_at: Millis | None = None
    outcome: Outcome | None = None
    value: str | None = None
    """JSON of the answer."""
    reason: str | None = None
    by: str | None = None
    decided_at: Millis | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteRow:
    request: str
    by: str
    value: str
    reason: str | None
    at: Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class EditionRow:
    hash: str
    body: str


class Companion(Protocol):
    """A typed row that commits in the same transaction as the fact it belongs to.

    Stores insert it into the table named ``TABLE``, one column per field, in field order.
    """

    TABLE: ClassVar[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A dedupe key. A key that is claimed already and not expired raises ``DuplicateClaimError``
    and nothing of the ``Writes`` is applied."""

    TABLE: ClassVar[str] = "claims"
    key: str
    turn: TurnRow | None
    at: Millis
    expires_at: Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    TABLE: ClassVar[str] = "verdicts"
    event_id: str
    source: str
    verdict: str
    rule: str
    turn: TurnRow | None
    at: Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    TABLE: ClassVar[str] = "deliveries"
    turn: TurnRow
    part: str
    target: str
    state: str
    at: Millis


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    TABLE: ClassVar[str] = "reservations"
    turn: TurnRow
    scope: str
    amount: str
    expires_at: Millis


COMPANIONS: tuple[type[Companion], ...] = (Claim, Verdict, Delivery, UsageRow, Audit, Reservation)


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelMark:
    turn: TurnRow
    reason: CancelReason
    at: Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPatch:
    """Changes to the session row. ``epoch`` raises the fence; a field left ``None`` stays."""

    epoch: int | None = None
    generation: int | None = None
    owner: str | None = None
    release: bool = False
    """Clear the owner: the attempt let go of the session on purpose."""
    reset_at: Millis | None = None
    clear_reset: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True)
class Plan(Generic[T]):
    """A decision's outcome: what to write, and what to tell the caller once it is durable."""

    result: T
    writes: Writes = NO_WRITES


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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSession:
    """A session with work that waits for an attempt."""

    ref: SessionRef
    owner: str | None
    owner_alive: bool
    resetting: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    row: SessionRow
    status: str
    turns: int
    pending: str | None
    """Public id of the open request, when suspended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSummary:
    ref: SessionRef
    turn: TurnRecord
    opening: MessageRow | None
    """The opening message, once it is appended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSummary:
    ref: SessionRef
    request: RequestRecord
    votes: int
