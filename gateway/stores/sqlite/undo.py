"""Taking back what one piece of a group wrote, without touching its neighbours."""

from __future__ import annotations

import sqlite3

from gateway.stores.sqlite.batch import Refused


class Undo:
    """A savepoint that is only set by pieces that need one: ``mark`` before the first of several
    statements that stand or fall together."""

    __slots__ = ("_cursor", "_shared", "marked")

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._cursor = cursor
        self.marked = False
        self._shared = False

    def mark(self) -> None:
        if not self.marked:
            self._cursor.execute("SAVEPOINT piece")
            self.marked = True

    def share(self) -> None:
        """What neighbours wrote is written here: from a mark on, it can't be taken back alone."""
        self._shared = self.marked

    def back(self) -> None:
        """Take back what was written since the mark, and go on."""
        self._cursor.execute("ROLLBACK TO piece")

    def end(self, error: BaseException | None) -> None:
        """Keep what was written, or take it back if there is an ``error``. Raises ``Refused`` where
        that would take neighbours' rows along: each piece has to run alone then."""
        if not self.marked or not self._cursor.connection.in_transaction:
            return
        if error is not None:
            if self._shared:
                raise Refused(error)
            self.back()
        self._cursor.execute("RELEASE piece")
        self.marked = False


class Lost(Exception):
    """A piece can be neither kept nor taken back: the whole transaction has to go."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause
