"""Reading what a decision asked to see, on the writer's connection, inside its transaction."""

from __future__ import annotations

import sqlite3

from gateway.engine.kinds import Millis, SessionRef
from gateway.engine.records import Ask, SessionRow, SessionView, TurnHead, TurnRecord
from gateway.engine.struct import replace
from gateway.stores.sqlite.batch import Batch
from gateway.stores.sqlite.rows import (
    SQL,
    Row,
    read_head,
    read_message,
    read_request,
    read_session,
    read_step,
    read_turn,
    read_vote,
)
from gateway.stores.sqlite.undo import Undo

_LOOK = SQL["look_at_session"]


def look(
    cursor: sqlite3.Cursor, ref: SessionRef, ask: Ask, lease: Millis, batch: Batch, undo: Undo
) -> SessionView:
    """Read what the decision asked for, with what the group wrote of the session so far."""
    given = (lease, ref.agent, ref.key, ask.turn_id)
    row = cursor.execute(_LOOK, given).fetchone()
    if row is not None and row[0] in batch.sessions:
        batch.write(cursor)
        row = cursor.execute(_LOOK, given).fetchone()
    if row is None and ask.create:
        undo.mark()
        cursor.execute(SQL["create_session"], (ref.agent, ref.key))
        row = cursor.execute(_LOOK, given).fetchone()
    if row is None:
        return SessionView(session=None)
    session, (has_open, known) = read_session(row), row[-2:]
    heads: tuple[TurnHead, ...] = ()
    if has_open:
        heads = tuple(map(read_head, cursor.execute(SQL["open_turns"], (session.id,)).fetchall()))
    turn: TurnRecord | None = None
    if known:
        turn = _turn(cursor, "turn_by_id", (session.id, ask.turn_id))
    elif ask.turn_id is None and ask.head and heads:
        turn = _turn(cursor, "turn_by_row", (heads[0].row,))
    view = SessionView(session=session, open=heads, turn=turn)
    if turn is not None and ask.tail:
        view = _with_tail(cursor, view, turn, session)
    if ask.request is not None:
        view = _with_request(cursor, view, ask.request, session)
    return view


def _turn(cursor: sqlite3.Cursor, query: str, values: Row) -> TurnRecord | None:
    row = cursor.execute(SQL[query], values).fetchone()
    return read_turn(row) if row else None


def _with_tail(
    cursor: sqlite3.Cursor, view: SessionView, turn: TurnRecord, session: SessionRow
) -> SessionView:
    steps = cursor.execute(SQL["steps"], (turn.row,)).fetchall()
    tail: list[Row] = []
    if turn.opening is not None:
        where = (session.id, turn.generation, turn.row, turn.opening)
        tail = cursor.execute(SQL["tail"], where).fetchall()
    return replace(
        view,
        tail=tuple(map(read_message, tail)),
        steps=tuple(map(read_step, steps)),
    )


def _with_request(
    cursor: sqlite3.Cursor, view: SessionView, public: str, session: SessionRow
) -> SessionView:
    row = cursor.execute(SQL["request_of_session"], (public, session.id)).fetchone()
    if row is None:
        return view
    votes = cursor.execute(SQL["votes"], (public,)).fetchall()
    return replace(view, request=read_request(row), votes=tuple(map(read_vote, votes)))
