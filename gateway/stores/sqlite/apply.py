"""Writing the rows of one ``Writes``: what others must see or may refuse at once, the rest with the
group's batch."""

from __future__ import annotations

import sqlite3
from typing import Any, TypeVar, cast

from gateway.engine.errors import DuplicateClaimError, StaleAttemptError
from gateway.engine.kinds import TurnRow
from gateway.engine.records import NEW_TURN, Claim, Companion, Fence, OccurrenceKept, Writes
from gateway.engine.struct import replace
from gateway.stores.sqlite.batch import Batch, joins
from gateway.stores.sqlite.ledger.rows import statement
from gateway.stores.sqlite.rows import (
    SQL,
    cancel_values,
    companion_inserts,
    patch_values,
    request_values,
    vote_values,
)
from gateway.stores.sqlite.undo import Undo

Named = TypeVar("Named")

CHECK_FENCE = SQL["check_fence"]
PATCH_SESSION = SQL["patch_session"]
NUMBER_SESSION = SQL["number_session"]


def check_fence(cursor: sqlite3.Cursor, fence: Fence) -> None:
    if cursor.execute(CHECK_FENCE, (fence.session, fence.epoch)).fetchone() is None:
        raise StaleAttemptError


def apply(
    cursor: sqlite3.Cursor, session: int | None, writes: Writes, batch: Batch, undo: Undo
) -> TurnRow:
    """Write all rows as one act, and return the new turn's number. What can't fail halfway, a
    single statement, needs no savepoint."""
    if session is None:
        if writes.session or writes.new_turn or writes.messages:
            raise ValueError("these rows need a session: ask with create=True")
        session = 0
    rest = not joins(writes)
    if rest:
        if session in batch.sessions:
            batch.write(cursor)
            undo.share()
        undo.mark()
    turn = writes.new_turn
    row = NEW_TURN
    if turn is not None:
        row = batch.number(cursor)
        writes = _numbered(writes, row)
    if rest:
        _apply_rest(cursor, writes)
    if writes.session is not None:
        numbered = None if turn is None else turn.number + 1
        cursor.execute(PATCH_SESSION, (session, *patch_values(writes.session), numbered))
    elif turn is not None:
        cursor.execute(NUMBER_SESSION, (session, turn.number + 1))
    if turn is not None:
        batch.create(row, session, turn)
    batch.take(session, writes)
    return row


def _apply_rest(cursor: sqlite3.Cursor, writes: Writes) -> None:
    for companion in writes.companions:
        _keep_companion(cursor, companion)
    many = cursor.executemany
    many(SQL["cancel_turn"], map(cancel_values, writes.cancels))
    many(SQL["save_request"], map(request_values, writes.requests))
    many(SQL["insert_vote"], map(vote_values, writes.votes))


def _keep_companion(cursor: sqlite3.Cursor, companion: Companion) -> None:
    way = statement(companion)
    if way is None:
        sql, values = companion_inserts[companion.TABLE]
        way = sql, values(companion)
    changed = cursor.execute(*way).rowcount
    if changed == 0 and isinstance(companion, Claim | OccurrenceKept):
        raise DuplicateClaimError(companion.key)


def _numbered(writes: Writes, row: TurnRow) -> Writes:
    """Put the new turn's number wherever the other rows say ``NEW_TURN``."""
    if not (writes.companions or writes.events or writes.messages or writes.requests):
        return writes
    return replace(
        writes,
        messages=_named(writes.messages, row),
        steps=_named(writes.steps, row),
        usage=_named(writes.usage, row),
        events=_named(writes.events, row),
        cancels=_named(writes.cancels, row),
        requests=_named(writes.requests, row),
        companions=_named(writes.companions, row),
    )


def _named(given: tuple[Named, ...], row: TurnRow) -> tuple[Named, ...]:
    if not given:  # as most of them are
        return given
    return tuple(
        cast("Named", replace(cast("Any", item), turn=row))
        if getattr(item, "turn", None) == NEW_TURN
        else item
        for item in given
    )
