"""Taking back what one piece of a group wrote, without touching its neighbours."""

from __future__ import annotations

import sqlite3


class Undo:
    """A savepoint that is only set by pieces that need one: ``mark`` before the first of several
    statements that stand or fall together."""

    __slots__ = ("_cursor", "_marked")

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._cursor = cursor
        self._marked = False

    def mark(self) -> None:
        if not self._marked:
            self._cursor.execute("SAVEPOINT piece")
            self._marked = True

    def back(self) -> None:
        """Take back what was written since the mark, and go on."""
        self._cursor.execute("ROLLBACK TO piece")

    def end(self, error: BaseException | None) -> None:
        """Keep what was written, or take it back if there is an ``error``."""
        if not self._marked or not self._cursor.connection.in_transaction:
            return
        if error is not None:
            self.back()
        self._cursor.execute("RELEASE piece")
        self._marked = False


class Lost(Exception):
    """A piece can be neither kept nor taken back: the whole transaction has to go."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause
