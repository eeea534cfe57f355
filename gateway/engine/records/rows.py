"""The rows of sessions, turns, messages, steps, events, requests."""

from __future__ import annotations

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
from gateway.engine.struct import struct

PARKED = "parked"
NEW_TURN = TurnRow(0)
"""In a companion or event: the turn that the same ``Writes`` inserts."""


@struct(frozen=True, slots=True)
class Fence:
    """The right to write for one attempt: valid while the session's epoch is this one."""

    session: SessionId
    epoch: int


@struct(frozen=True, slots=True, kw_only=True)
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


@struct(frozen=True, slots=True, kw_only=True)
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
    delivers: bool
    last_seq: int


@struct(frozen=True, slots=True, kw_only=True)
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
    """Running time of attempts that are over, as far as it is known; queued, parked and down time
    don't count."""
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
    delivers: bool = False
    """A delivery shows the turn somewhere: what becomes of it has to be told there."""

    last_seq: int = 0


@struct(frozen=True, slots=True, kw_only=True)
class MessageRow:
    generation: int
    index: int
    turn: TurnRow
    turn_id: str = ""
    """Filled on reading; not stored twice."""
    role: Role
    body: str


@struct(frozen=True, slots=True, kw_only=True)
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


@struct(frozen=True, slots=True, kw_only=True)
class EventRow:
    """A durable event. ``ref`` points at the message (or usage row) that holds its content."""

    turn: TurnRow
    seq: int
    at: Millis
    type: str
    ref: int | None = None
    body: str | None = None


@struct(frozen=True, slots=True, kw_only=True)
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


@struct(frozen=True, slots=True, kw_only=True)
class VoteRow:
    request: str
    by: str
    value: str
    reason: str | None
    at: Millis


@struct(frozen=True, slots=True, kw_only=True)
class EditionRow:
    hash: str
    body: str
