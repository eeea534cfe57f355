"""What the ledger does on the writer's thread: each function is one act within the group's
transaction, and leaves nothing behind when it raises, because its piece takes it back."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence

from typing_extensions import override

from gateway.engine.errors import LeaseLostError
from gateway.engine.kinds import Millis
from gateway.engine.ledger import (
    Binding,
    Delivery,
    DeliveryState,
    Document,
    FileRow,
    InboxRow,
    Installation,
    Part,
    Receipt,
    Retention,
)
from gateway.engine.records import NEW_TURN, Companion, PlaceBound, Writes
from gateway.engine.struct import replace
from gateway.engine.wire.text import dumps
from gateway.stores.sqlite.apply import apply
from gateway.stores.sqlite.batch import Batch
from gateway.stores.sqlite.ledger.rows import (
    file_values,
    installation_values,
    listed,
    part_values,
    read_deliveries,
    read_inbox,
)
from gateway.stores.sqlite.pieces import WriterPiece
from gateway.stores.sqlite.rows import SQL
from gateway.stores.sqlite.undo import Undo

Act = Callable[[sqlite3.Cursor], object]


class Work(WriterPiece):
    """One act of the ledger, after what the group wrote before it: rows of turns are read here."""

    __slots__ = ("_act", "_batch")

    def __init__(self, future: asyncio.Future[object], act: Act, batch: Batch) -> None:
        super().__init__(future)
        self._act = act
        self._batch = batch

    @override
    def act(self, cursor: sqlite3.Cursor, undo: Undo) -> object:
        self._batch.write(cursor)
        undo.mark()
        return self._act(cursor)


class Noting(WriterPiece):
    """Rows without a session; ``first`` is done in the same breath."""

    __slots__ = ("_batch", "_first", "_rows")

    def __init__(
        self,
        future: asyncio.Future[object],
        rows: Sequence[Companion],
        batch: Batch,
        first: Act | None = None,
    ) -> None:
        super().__init__(future)
        self._rows = tuple(rows)
        self._batch = batch
        self._first = first

    @property
    @override
    def prompt(self) -> bool:
        """Rows alone are mostly an event's verdict, and its sender waits for that."""
        return self._first is None

    @override
    def act(self, cursor: sqlite3.Cursor, undo: Undo) -> object:
        if any(getattr(row, "turn", None) == NEW_TURN for row in self._rows):
            raise ValueError("these rows name a new turn, and none is made here")
        if self._first is not None:
            self._batch.write(cursor)  # before the mark, or taking back would take it along
            undo.mark()
            self._first(cursor)
        apply(cursor, None, Writes(companions=self._rows), self._batch, undo)
        return None


# -- the way in ------------------------------------------------------------------------------------
def take_inbox(
    cursor: sqlite3.Cursor, owner: str, now: Millis, lease: Millis, limit: int
) -> list[InboxRow]:
    due = cursor.execute(SQL["inbox_due"], (now, limit)).fetchall()
    taken = [cursor.execute(SQL["inbox_take"], (row, owner, lease)).fetchone() for (row,) in due]
    return [read_inbox(row) for row in taken]


def settle_inbox(
    cursor: sqlite3.Cursor, row: InboxRow, state: str, next_try: Millis | None, error: str | None
) -> None:
    given = (row.id, row.token, state, next_try, error)
    _ours(cursor.execute(SQL["inbox_settle"], given))


# -- the way out -----------------------------------------------------------------------------------
def claim(
    cursor: sqlite3.Cursor, owner: str, sources: str, now: Millis, lease: Millis, limit: int
) -> list[Delivery]:
    cursor.execute(SQL["wake_reminded"], (now, sources))
    found = cursor.execute(SQL["claimable"], (now, sources, limit)).fetchall()
    if not found:
        return []
    cursor.executemany(SQL["claim_delivery"], [(row, owner, lease) for row, _ in found])
    rows = cursor.execute(SQL["deliveries_by_id"], (listed(row for row, _ in found),)).fetchall()
    made = {delivery.id: delivery for delivery in read_deliveries(rows)}
    return [replace(made[row], recovered=bool(cut)) for row, cut in found if row in made]


def renew(cursor: sqlite3.Cursor, held: Sequence[tuple[int, int]], lease: Millis) -> set[int]:
    return {
        row
        for row, token in held
        if cursor.execute(SQL["renew_delivery"], (row, token, lease)).rowcount
    }


def journal(cursor: sqlite3.Cursor, token: int, parts: Sequence[Part]) -> int:
    (delivery,) = {part.delivery for part in parts}
    held = cursor.execute(SQL["held_delivery"], (delivery, token)).fetchone()
    if held is None:
        raise LeaseLostError
    cursor.executemany(SQL["save_part"], map(part_values, parts))
    return int(held[0])


def settle(cursor: sqlite3.Cursor, receipt: Receipt) -> Delivery:
    given = (
        *(receipt.delivery, receipt.token, receipt.satisfied, receipt.state, receipt.seq),
        *(receipt.hash, receipt.ref, receipt.lane, receipt.next_try, receipt.error),
        *(receipt.revive_on, receipt.remind_at),
    )
    _ours(cursor.execute(SQL["settle_delivery"], given))
    for place in receipt.places:
        bind(cursor, place)
    found = cursor.execute(SQL["deliveries_by_id"], (listed([receipt.delivery]),)).fetchall()
    return read_deliveries(found)[0]


def bind(cursor: sqlite3.Cursor, row: Binding | PlaceBound) -> None:
    given = (row.place, row.agent, row.session, row.kind, row.turn, row.at)
    cursor.execute(SQL["place_bound"], given)


def retry(cursor: sqlite3.Cursor, delivery: int | None, revive_on: str | None, now: Millis) -> int:
    return cursor.execute(SQL["retry_deliveries"], (delivery, revive_on, now)).rowcount


def fail(cursor: sqlite3.Cursor, delivery: int, part: int, error: str) -> DeliveryState | None:
    before = cursor.execute(SQL["delivery_state"], (delivery,)).fetchone()
    if cursor.execute(SQL["fail_delivery"], (delivery, error)).rowcount:
        cursor.execute(SQL["lose_part"], (delivery, part))
    return before[0] if before else None


# -- shared ----------------------------------------------------------------------------------------
def hold(cursor: sqlite3.Cursor, name: str, owner: str, lease: Millis) -> bool:
    return cursor.execute(SQL["hold_lease"], (name, owner, lease)).rowcount > 0


def let_go(cursor: sqlite3.Cursor, name: str, owner: str) -> None:
    cursor.execute(SQL["drop_lease"], (name, owner))


def save_installation(cursor: sqlite3.Cursor, row: Installation, expected: int | None) -> bool:
    statement = "insert_installation" if expected is None else "save_installation"
    given = (*installation_values(row), (expected or 0) + 1)
    return cursor.execute(SQL[statement], given).rowcount > 0


def put_document(cursor: sqlite3.Cursor, row: Document, expected: int | None) -> bool:
    statement = "insert_document" if expected is None else "save_document"
    given = (row.kind, row.key, (expected or 0) + 1, dumps(row.body), row.expires)
    return cursor.execute(SQL[statement], given).rowcount > 0


def drop_document(cursor: sqlite3.Cursor, kind: str, key: str, expected: int | None) -> bool:
    return cursor.execute(SQL["drop_document"], (kind, key, expected)).rowcount > 0


def keep_file(cursor: sqlite3.Cursor, row: FileRow, body: bytes) -> None:
    cursor.execute(SQL["keep_file"], (*file_values(row), body))


def forget(cursor: sqlite3.Cursor, before: Retention) -> int:
    gone = 0
    for name, end in (
        ("claims", before.claims),
        ("verdicts", before.verdicts),
        ("inbox", before.inbox),
        ("places", before.places),
        ("pairs", before.pairs),
        ("files", before.files),
        ("documents", before.documents),
        ("occurrences", before.occurrences),
    ):
        gone += cursor.execute(SQL[f"forget_{name}"], (end, before.limit)).rowcount
    old = cursor.execute(SQL["old_deliveries"], (before.deliveries, before.limit)).fetchall()
    cursor.executemany(SQL["drop_parts"], old)
    cursor.executemany(SQL["drop_delivery"], old)
    return gone + len(old)


def _ours(cursor: sqlite3.Cursor) -> None:
    if not cursor.rowcount:
        raise LeaseLostError
