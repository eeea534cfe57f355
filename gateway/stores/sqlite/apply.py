"""Writing the rows of one ``Writes``, inside the savepoint of the piece they belong to."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar, cast

from gateway.engine.errors import DuplicateClaimError, StaleAttemptError
from gateway.engine.kinds import TurnRow
from gateway.engine.records import NEW_TURN, Claim, Companion, Fence, TurnRecord, Writes
from gateway.stores.sqlite.rows import (
    SQL,
    cancel_values,
    companion_inserts,
    edition_values,
    event_values,
    message_values,
    new_turn_values,
    patch_values,
    request_values,
    saved_turn_values,
    step_values,
    usage_values,
    vote_values,
)

Named = TypeVar("Named")

CHECK_FENCE = SQL["check_fence"]
INSERT_MESSAGE = SQL["insert_message"]
SAVE_STEP = SQL["save_step"]
INSERT_USAGE = SQL["insert_usage"]
INSERT_EVENT = SQL["insert_event"]
SAVE_TURN = SQL["save_turn"]
DROP_OPENING = SQL["drop_opening"]


def check_fence(cursor: sqlite3.Cursor, fence: Fence) -> None:
    if cursor.execute(CHECK_FENCE, (fence.session, fence.epoch)).fetchone() is None:
        raise StaleAttemptError


def apply(cursor: sqlite3.Cursor, session: int | None, writes: Writes) -> None:
    """Write all rows, in the order of the fields; the savepoint around it makes that one act."""
    if session is None and (writes.session or writes.new_turn or writes.messages):
        raise ValueError("these rows need a session: ask with create=True")
    if writes.session is not None or writes.new_turn is not None or writes.turns:
        writes = _apply_session(cursor, session, writes)
    execute = cursor.execute
    for message in writes.messages:
        execute(INSERT_MESSAGE, (session, *message_values(message)))
    for step in writes.steps:
        execute(SAVE_STEP, step_values(step))
    for usage in writes.usage:
        execute(INSERT_USAGE, usage_values(usage))
    if writes.events:
        cursor.executemany(INSERT_EVENT, map(event_values, writes.events))
    for turn in writes.turns:
        execute(SAVE_TURN, saved_turn_values(turn))
    for turn in writes.opened:
        execute(DROP_OPENING, (turn.row,))
    if writes.cancels or writes.requests or writes.votes or writes.editions or writes.companions:
        _apply_rest(cursor, writes)


def _apply_session(cursor: sqlite3.Cursor, session: int | None, writes: Writes) -> Writes:
    """The session row's changes and the new turn. A saved turn counts as activity."""
    if writes.session is not None:
        cursor.execute(SQL["patch_session"], (session, *patch_values(writes.session)))
    elif writes.new_turn is None:
        cursor.execute(SQL["touch_session"], (session,))
    if writes.new_turn is not None:
        writes = _insert_turn(cursor, session, writes.new_turn, writes)
    return writes


def _apply_rest(cursor: sqlite3.Cursor, writes: Writes) -> None:
    many = cursor.executemany
    many(SQL["cancel_turn"], map(cancel_values, writes.cancels))
    many(SQL["save_request"], map(request_values, writes.requests))
    many(SQL["insert_vote"], map(vote_values, writes.votes))
    many(SQL["insert_edition"], map(edition_values, writes.editions))
    for companion in writes.companions:
        _insert_companion(cursor, companion)


def _insert_companion(cursor: sqlite3.Cursor, companion: Companion) -> None:
    sql, values = companion_inserts[companion.TABLE]
    changed = cursor.execute(sql, values(companion)).rowcount
    if changed == 0 and isinstance(companion, Claim):
        raise DuplicateClaimError(companion.key)


def _insert_turn(
    cursor: sqlite3.Cursor, session: int | None, turn: TurnRecord, writes: Writes
) -> Writes:
    """Insert the new turn and put its number wherever the other rows say ``NEW_TURN``."""
    cursor.execute(SQL["insert_turn"], (session, *new_turn_values(turn)))
    row = TurnRow(cursor.lastrowid or 0)
    if turn.content is not None:
        cursor.execute(SQL["insert_opening"], (row, turn.content))
    cursor.execute(SQL["number_session"], (session, turn.number + 1))
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


def _named(given: Iterable[Named], row: TurnRow) -> tuple[Named, ...]:
    return tuple(
        cast("Named", replace(cast("Any", item), turn=row))
        if getattr(item, "turn", None) == NEW_TURN
        else item
        for item in given
    )
