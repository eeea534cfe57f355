"""The three seams. The engine reaches the world through these protocols and nothing else.

Each has a version. An implementation declares the one it was written for as ``seam_version``; the
runtime compares at construction and names both when they differ.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar

from gateway.engine.events import TurnEvent
from gateway.engine.kinds import JsonObject, Millis, SessionRef, Trust, TurnRow
from gateway.engine.ledger.port import Ledger
from gateway.engine.messages import Attachment, Text
from gateway.engine.model import ModelDelta, ModelReply, ModelRequest
from gateway.engine.records import (
    Ask,
    AuditEntry,
    EditionRow,
    Fence,
    LocalCall,
    LoggedEvent,
    MessageRow,
    OpenSession,
    Plan,
    RequestRecord,
    RequestSummary,
    SessionRow,
    SessionSummary,
    SessionView,
    StepRow,
    TurnRecord,
    TurnSummary,
    Writes,
)
from gateway.engine.struct import struct

T = TypeVar("T")

STORE_SEAM_VERSION = 2
SINK_SEAM_VERSION = 1
MODEL_SEAM_VERSION = 1


@struct(frozen=True, slots=True, kw_only=True)
class StoreCapabilities:
    """What a backend can promise. Suites skip by capability, never by type."""

    rollback: bool
    """A failed or crashed write leaves nothing; sync tools are exactly once."""
    durable: bool
    """State survives the process."""
    handle: bool
    """Sync tools get a handle from ``ctx.store.unwrap()``."""
    shared: bool
    """Several processes may hold the store at once."""


class SessionStore(Protocol):
    """Keeps transcripts, steps, turns, requests, events; runs transactions.

    Every method raises ``StoreUnavailableError`` when the backend can't answer now (disk full,
    connection lost); nothing is applied then, or the outcome is unknown and reading tells.
    """

    seam_version: int
    dialect: str
    """``sqlite``, ``postgresql`` or ``memory``."""
    capabilities: StoreCapabilities
    ledger: Ledger

    async def open(self) -> None:
        """Open, migrate (after a verified copy), take what lock the backend needs."""
        ...

    async def close(self) -> None: ...

    # -- writes --------------------------------------------------------------------------------
    async def amend(self, ref: SessionRef, ask: Ask, decide: Callable[[SessionView], Plan[T]]) -> T:
        """Lock the session, show ``decide`` what it asked for, apply its plan; one transaction.

        ``decide`` is pure and quick, and may be called again. What it raises is raised here with
        nothing applied. Returns the plan's result once the writes are durable.
        Raises ``DuplicateClaimError`` when a claim is taken.
        """
        ...

    async def commit(self, fence: Fence, writes: Writes) -> None:
        """Apply the writes of an attempt in one transaction, if its epoch still holds.

        Raises ``StaleAttemptError`` (nothing written) when it doesn't.
        """
        ...

    async def run_local(self, fence: Fence, call: LocalCall) -> None:
        """Run a sync tool and commit what it settles to, in one transaction under the fence."""
        ...

    async def beat(self, owner: str) -> None:
        """Say that this process lives. Uses the backend's clock."""
        ...

    # -- reads ---------------------------------------------------------------------------------
    async def backlog(self, lease: Millis) -> Sequence[OpenSession]:
        """Sessions with a queued or running turn that isn't behind a park, or with a reset
        pending. ``owner_alive`` when the owner's last beat is younger than ``lease``."""
        ...

    async def due(self, now: Millis) -> Sequence[tuple[SessionRef, RequestRecord]]:
        """Open requests of suspended turns whose ``expires_at`` is at or before ``now``."""
        ...

    async def session(self, ref: SessionRef) -> SessionRow | None: ...

    async def messages(
        self, ref: SessionRef, generation: int, after: int = -1, limit: int | None = None
    ) -> Sequence[MessageRow]:
        """Messages of one generation with an index above ``after``, in order, ``limit`` at most."""
        ...

    async def turn(self, ref: SessionRef, turn_id: str) -> TurnRecord | None: ...

    async def steps(self, turn: TurnRow) -> Sequence[StepRow]: ...

    async def requests(self, turn: TurnRow) -> Sequence[RequestRecord]: ...

    async def events(
        self, ref: SessionRef, turn: TurnRow, after: int = 0, limit: int = 1000
    ) -> Sequence[LoggedEvent]:
        """Logged events of a turn with a ``seq`` above ``after``, in order."""
        ...

    async def edition(self, hash: str) -> EditionRow | None:  # noqa: A002
        ...

    async def find_request(self, id: str) -> RequestSummary | None:  # noqa: A002
        ...

    async def list_sessions(
        self, *, agent: str | None = None, status: str | None = None, limit: int = 50
    ) -> Sequence[SessionSummary]: ...

    async def list_turns(
        self, *, ref: SessionRef | None = None, state: str | None = None, limit: int = 50
    ) -> Sequence[TurnSummary]: ...

    async def list_requests(self, *, limit: int = 50) -> Sequence[RequestSummary]:
        """Open requests of suspended turns, oldest first."""
        ...

    async def list_past_requests(
        self, *, decided: bool, limit: int = 50
    ) -> Sequence[RequestSummary]:
        """Requests that somebody decided, or those that ended without (expired, cancelled), the
        latest first."""
        ...

    async def list_audit(
        self,
        *,
        agent: str | None = None,
        session: str | None = None,
        turn_id: str | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> Sequence[AuditEntry]:
        """Audit rows, the latest first; with ``before`` those with a lower number. They outlive
        what they speak of, so each of their words is asked for on its own."""
        ...

    async def usage_totals(self, turn: TurnRow) -> JsonObject:
        """Sums over the turn's usage rows: input, output, cache_read, cache_write, cost (text),
        calls."""
        ...


class Subscription(Protocol):
    """One reader's view of a turn's events as they happen. Bounded: a reader that falls more than
    the sink's bound behind is cut (iteration ends with ``lagged`` true) and resumes by cursor."""

    @property
    def lagged(self) -> bool: ...

    async def next(self, timeout: float) -> TurnEvent | None:
        """The next event, or ``None`` after ``timeout`` seconds of silence or when cut."""
        ...


class EventSink(Protocol):
    """Takes each event as it happens and fans it out. It must not raise into the turn: the engine
    logs what it raises and goes on."""

    seam_version: int

    async def publish(self, ref: SessionRef, events: Sequence[TurnEvent]) -> None: ...

    def subscribe(
        self, ref: SessionRef, turn_id: str
    ) -> AbstractAsyncContextManager[Subscription]: ...

    def watched(self, ref: SessionRef) -> bool:
        """Whether a live subscriber is attached to the session."""
        ...


class Model(Protocol):
    """One model call, streamed.

    ``name`` and ``settings`` become part of the edition: what the adapter fixes for its life.
    """

    seam_version: int

    @property
    def name(self) -> str: ...

    @property
    def settings(self) -> JsonObject: ...

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta | ModelReply]:
        """Yield deltas as they arrive and, last, exactly one ``ModelReply``.

        Raises ``ModelUnavailableError`` for what is worth retrying and ``ModelError`` for the rest;
        a stream that ends without a known stop reason is ``ModelUnavailableError``. The adapter
        itself never retries. Closing the iterator closes the connection.

        What a call cost that never came to a reply stands in its error's ``usage``, or is read off
        the ``Meter`` that the stream yielded; a call that offers neither is not billed.
        """
        ...

    async def close(self) -> None:
        """Let go of connections; the runtime asks for it when it stops."""
        ...


@struct(frozen=True, slots=True, kw_only=True)
class Preparing:
    """A turn that is about to begin, and what its event still wants read. ``first``: the session holds
    no message yet."""

    ref: SessionRef
    turn_id: str
    event: JsonObject
    fetch: JsonObject
    first: bool


@struct(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What goes before the message, and the least trust among it (``None``: no less than its own)."""

    before: tuple[Text | Attachment, ...] = ()
    trust: Trust | None = None


class Preparer(Protocol):
    """Reads from a platform what a turn needs to know before its opening message is kept.

    It has ``PREPARE_SECONDS`` and must not raise: what can't be read is said so in ``before``.
    """

    async def prepare(self, asked: Preparing) -> Prepared: ...


PREPARE_SECONDS = 3.0
