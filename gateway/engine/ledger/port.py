"""The ledger: the half of the store seam that keeps the ways in and out.

It lives in the same database and writes in the same kind of transaction as the sessions. Rows that
commit with a fact of a session (an accepted message, a park, an ending) are companions of that write
and don't come through here.

Leases go by the store's own clock, so that hosts whose clocks differ agree; what is due goes by the
moment that the caller names. Every method raises ``StoreUnavailableError`` when the backend can't
answer now.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from gateway.engine.kinds import Millis
from gateway.engine.ledger.rows import (
    Asked,
    Delivery,
    DeliveryState,
    Document,
    FileRow,
    InboxRow,
    Installation,
    Known,
    OccurrenceRow,
    Part,
    Receipt,
    Retention,
    VerdictRow,
)
from gateway.engine.records import Companion


class Ledger(Protocol):
    # -- the way in ----------------------------------------------------------------------------
    async def known(self, ask: Asked) -> Known:
        """All that a decision about one event has to know, in one read."""
        ...

    async def note(self, rows: Sequence[Companion]) -> None:
        """Keep rows that belong to no session, in one transaction.

        Raises ``DuplicateClaimError`` when a claim is taken; nothing is kept then.
        """
        ...

    async def verdicts(
        self,
        *,
        source: str | None = None,
        event: str | None = None,
        place: str | None = None,
        turn_id: str | None = None,
        verdict: str | None = None,
        limit: int = 50,
    ) -> Sequence[VerdictRow]:
        """Verdicts, the latest first."""
        ...

    async def take_inbox(
        self, owner: str, now: Millis, lease: Millis, limit: int
    ) -> Sequence[InboxRow]:
        """Take events that are due, or whose lease has lapsed, the oldest first."""
        ...

    async def settle_inbox(
        self,
        row: InboxRow,
        done: bool,
        next_try: Millis | None,
        rows: Sequence[Companion] = (),
        *,
        error: str | None = None,
    ) -> None:
        """Let go of an event, and keep what came of it in the same transaction: done, to be tried
        again at ``next_try``, or, with neither, given up.

        Raises ``LeaseLostError`` when somebody else took it meanwhile, ``DuplicateClaimError`` when
        a claim is taken; nothing is written then.
        """
        ...

    # -- the way out ---------------------------------------------------------------------------
    async def claim(
        self, owner: str, sources: Collection[str], now: Millis, lease: Millis, limit: int
    ) -> Sequence[Delivery]:
        """Take deliveries that are due, or whose lease has lapsed. A lane has one sender at a time:
        while there is none, its oldest delivery that waits goes first, and whatever is younger
        waits for it. Wakes resting ones whose ``remind_at`` came.
        """
        ...

    async def renew(self, held: Sequence[tuple[int, int]], lease: Millis) -> Collection[int]:
        """Prolong the leases of deliveries, given as (id, token). Returns the ids that are still
        ours."""
        ...

    async def journal(self, token: int, parts: Sequence[Part]) -> int:
        """Write parts of one claimed delivery, each over the one with its number. Returns how much
        is wanted by now.

        Raises ``LeaseLostError`` when the token is no longer the delivery's; nothing is written.
        """
        ...

    async def settle(self, receipt: Receipt) -> Delivery:
        """Let go of a claimed delivery, binding the receipt's places in the same transaction.
        Returns the row as it is now.

        Raises ``LeaseLostError`` when the token is no longer the delivery's; nothing is written.
        """
        ...

    async def next_due(self, sources: Collection[str]) -> Millis | None:
        """When the next delivery becomes due that heads its lane; it may lie in the past. Those that
        have a sender are left out."""
        ...

    async def deliveries(
        self, *, state: DeliveryState | None = None, turn_id: str | None = None, limit: int = 50
    ) -> Sequence[Delivery]:
        """Deliveries, the latest first."""
        ...

    async def delivery(self, id: int) -> Delivery | None:  # noqa: A002
        ...

    async def shown_at(self, source: str, ref: str) -> Delivery | None:
        """The delivery that stands behind a message of ours, found by its own reference or by that
        of one of its parts."""
        ...

    async def retry(
        self,
        *,
        id: int | None = None,  # noqa: A002
        revive_on: str | None = None,
        now: Millis,
    ) -> int:
        """Make dead deliveries due again: the one, those that wait for this to happen, or both
        together. Returns how many."""
        ...

    async def fail(self, id: int, part: int, error: str) -> DeliveryState | None:  # noqa: A002
        """A part that was believed to have arrived hasn't: it is gone, and its delivery dead, where nobody
        is sending that. Returns the state before, so ``due`` and ``sending`` mean that nothing was
        written; ``None`` without such a delivery."""
        ...

    # -- shared --------------------------------------------------------------------------------
    async def hold(self, name: str, owner: str, lease: Millis) -> bool:
        """Take or keep a lease by name. ``False`` while somebody else holds it."""
        ...

    async def let_go(self, name: str, owner: str) -> None:
        """Give a lease back before it lapses; nothing happens if it isn't ours."""
        ...

    async def installation(self, key: str) -> Installation | None: ...

    async def installations(self, app: str) -> Sequence[Installation]:
        """Those of one app, by key."""
        ...

    async def save_installation(self, row: Installation, expected: int | None) -> bool:
        """Keep an installation if the one held has the version ``expected`` (``None``: if there is
        none). It is kept under the next version, whatever ``row`` says. ``False``: nothing written.
        """
        ...

    async def keep_file(self, row: FileRow, body: bytes) -> None:
        """Keep a file; the first one under an id stays."""
        ...

    async def file(self, id: str) -> bytes | None:  # noqa: A002
        ...

    async def document(self, kind: str, key: str) -> Document | None:
        """``None`` also for one that has expired."""
        ...

    async def documents(self, kind: str, limit: int = 200) -> Sequence[Document]:
        """Those of a kind by key, expired ones left out."""
        ...

    async def put_document(self, row: Document, expected: int | None) -> bool:
        """Keep a document if the one held has the version ``expected`` (``None``: if there is none).
        It is kept under the next version, whatever ``row`` says. ``False``: nothing written."""
        ...

    async def drop_document(self, kind: str, key: str, expected: int | None = None) -> bool:
        """Drop a document, or only the one of that version. ``False``: there was none to drop, so
        that of several who use it up one alone does."""
        ...

    async def occurrences(
        self, agent: str, schedule: str | None = None, limit: int = 50
    ) -> Sequence[OccurrenceRow]:
        """The ticks of an agent's schedules, the latest due first."""
        ...

    async def forget(self, before: Retention) -> int:
        """Delete what is old. Returns how many rows went; 0 when nothing is left to forget."""
        ...
