"""Rows of a group, written together: a few long statements instead of several short ones per piece.

Most of what a busy host writes depends on nothing but the fence: a message, a step, a usage row, a
few events, a turn. Such rows wait until the group ends and go in table by table, many to a
statement: the interpreter's lock is given back once per statement, so the event loop goes on while
SQLite works. A piece that has to see a session's rows has them written first.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from gateway.engine.errors import StaleAttemptError
from gateway.engine.kinds import TurnRow
from gateway.engine.records import Fence, TurnRecord, Writes
from gateway.stores.sqlite.rows import (
    SQL,
    Row,
    edition_values,
    event_values,
    message_values,
    new_turn_values,
    saved_turn_values,
    step_values,
    usage_values,
)

SIZES = (64, 32, 16, 8, 4, 3, 2, 1)
"""Rows to a statement, the most first. Few sizes, so that each statement is prepared once and stays."""


class Refused(Exception):
    """The batch can't be kept: a fence has fallen, or the store refuses a row of somebody's.
    Each piece of the group then runs again alone, which shows whose."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause


def joins(writes: Writes) -> bool:
    """Whether all of these rows may wait for the end of the group."""
    return not (writes.companions or writes.requests or writes.cancels or writes.votes)


def _statements(
    texts: Mapping[int, str], width: int, values: list[Any]
) -> Iterator[tuple[str, list[Any]]]:
    """The rows, whose ``width`` values stand one after the other, in as few statements as the sizes
    allow: of each its text and its arguments."""
    at = 0
    for size, text in texts.items():
        while (end := at + size * width) <= len(values):
            yield text, values[at:end]
            at = end


class _Table:
    """Rows for one statement that ends in ``VALUES (…)``."""

    def __init__(self, query: str) -> None:
        sql = SQL[query]
        start = sql.rindex("VALUES (") + len("VALUES ")
        end = sql.index(")", start) + 1
        one, rest = sql[start:end], sql[end:]
        self._texts = {size: sql[:start] + ", ".join([one] * size) + rest for size in SIZES}
        self._width = one.count("?")
        self.rows: list[Any] = []
        """Their values, one after the other."""

    def write(self, cursor: sqlite3.Cursor) -> None:
        for text, given in _statements(self._texts, self._width, self.rows):
            cursor.execute(text, given)


class _Changes:
    """Rows for a statement that changes one row at a time."""

    def __init__(self, query: str) -> None:
        self._text = SQL[query]
        self.rows: list[Row] = []

    def write(self, cursor: sqlite3.Cursor) -> None:
        cursor.executemany(self._text, self.rows)


class Batch:
    """Rows that wait for the end of their group."""

    def __init__(self) -> None:
        self.sessions: set[int] = set()
        self._fences: dict[int, int] = {}
        self._touched = _Changes("touch_session")
        self._created = _Table("insert_turn")
        self._openings = _Table("insert_opening")
        self._messages = _Table("insert_message")
        self._steps = _Table("save_step")
        self._usage = _Table("insert_usage")
        self._events = _Table("insert_event")
        self._turns = _Changes("save_turn")
        self._opened = _Changes("drop_opening")
        self._editions = _Table("insert_edition")
        self._order = (
            self._touched,
            self._created,
            self._openings,
            self._messages,
            self._steps,
            self._usage,
            self._events,
            self._turns,
            self._opened,
            self._editions,
        )
        self._last_turn: int | None = None

    # -- taking --------------------------------------------------------------------------------
    def expect(self, fence: Fence) -> None:
        """These rows are kept only if the session's epoch is still this one."""
        if self._fences.setdefault(fence.session, fence.epoch) != fence.epoch:
            raise Refused(StaleAttemptError())

    def take(self, session: int, writes: Writes) -> None:
        """Keep rows for later; ``joins`` says that they may wait."""
        self.sessions.add(session)
        for message in writes.messages:
            self._messages.rows.append(session)
            self._messages.rows.extend(message_values(message))
        for step in writes.steps:
            self._steps.rows.extend(step_values(step))
        for usage in writes.usage:
            self._usage.rows.extend(usage_values(usage))
        for event in writes.events:
            self._events.rows.extend(event_values(event))
        if writes.turns:
            self._turns.rows.extend(map(saved_turn_values, writes.turns))
            if writes.session is None:
                self._touched.rows.append((session,))
        for turn in writes.opened:
            self._opened.rows.append((turn.row,))
        for edition in writes.editions:
            self._editions.rows.extend(edition_values(edition))

    def number(self, cursor: sqlite3.Cursor) -> TurnRow:
        """The number that the next new turn's row will have. Nobody else gives any."""
        if self._last_turn is None:
            self._last_turn = int(cursor.execute(SQL["last_turn"]).fetchone()[0])
        self._last_turn += 1
        return TurnRow(self._last_turn)

    def create(self, row: TurnRow, session: int, turn: TurnRecord) -> None:
        """Keep a new turn for later."""
        self.sessions.add(session)
        self._created.rows.extend((row, session, *new_turn_values(turn)))
        if turn.content is not None:
            self._openings.rows.extend((row, turn.content))

    # -- writing -------------------------------------------------------------------------------
    def check(self, cursor: sqlite3.Cursor) -> None:
        """Whether all fences hold. Raises ``Refused``, as ``write`` would."""
        try:
            if self._fences:
                self._check(cursor)
        except Exception as exc:
            raise Refused(exc) from exc

    def write(self, cursor: sqlite3.Cursor) -> None:
        """All of it. Raises ``Refused``; the transaction must be rolled back then."""
        if not self.sessions and not self._fences:
            return
        self.check(cursor)
        try:
            for table in self._order:
                if table.rows:
                    table.write(cursor)
        except Exception as exc:
            raise Refused(exc) from exc
        self._clear()

    def _check(self, cursor: sqlite3.Cursor) -> None:
        fences = list(chain.from_iterable(self._fences.items()))
        held = sum(
            cursor.execute(text, given).fetchone()[0]
            for text, given in _statements(_HELD, 2, fences)
        )
        if held != len(self._fences):
            raise StaleAttemptError

    def forget(self) -> None:
        """The transaction is gone, and with it the numbers that it gave."""
        self._clear()
        self._last_turn = None

    def _clear(self) -> None:
        self.sessions.clear()
        self._fences.clear()
        for table in self._order:
            if table.rows:
                table.rows.clear()


_HELD = {size: SQL["fences_held"].replace("(?, ?)", ", ".join(["(?, ?)"] * size)) for size in SIZES}
