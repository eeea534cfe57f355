"""What sync tools see of a store, shared by every backend that gives them a handle."""

from __future__ import annotations


class HandleError(Exception):
    """A tool used its store handle in a way it may not; the message says which and what to do."""


class FetchedRows:
    """The rows of one statement, fetched whole: nothing stays open behind a tool's back."""

    __slots__ = ("_next", "_rows", "rowcount")

    def __init__(self, rows: list[tuple[object, ...]], rowcount: int) -> None:
        self._rows = rows
        self._next = 0
        self.rowcount = rowcount

    def fetchone(self) -> tuple[object, ...] | None:
        if self._next >= len(self._rows):
            return None
        self._next += 1
        return self._rows[self._next - 1]

    def fetchall(self) -> list[tuple[object, ...]]:
        rest = self._rows[self._next :]
        self._next = len(self._rows)
        return rest
