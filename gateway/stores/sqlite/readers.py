"""Reading connections: read-only, apart from the writer. They see what is committed and nothing else.

A few rows that are found by their keys are read where they are asked for, on the event loop: that takes
some ten microseconds, and to hand it to a thread and be woken with the answer several hundred, and on a
busy host as many milliseconds. It never waits there for a lock. Whatever may be many rows is read on a
thread, one hop per statement.
"""

from __future__ import annotations

import sqlite3
from itertools import cycle
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import aiosqlite

from gateway.stores.sqlite.faults import closed_error, engine_error, primary_code
from gateway.stores.sqlite.rows import Row
from gateway.stores.sqlite.schema import BUSY_MILLIS

READERS = 2
_PREPARED = 256


class Readers:
    """A handful of connections: one of the loop's own, and others used in turn."""

    def __init__(self, path: Path) -> None:
        self._uri = f"file:{quote(str(path))}?mode=ro"
        self._here: sqlite3.Connection | None = None
        self._connections: list[aiosqlite.Connection] = []
        self._next = cycle(self._connections)

    async def open(self) -> None:
        try:
            self._here = sqlite3.connect(
                self._uri,
                uri=True,
                isolation_level=None,
                cached_statements=_PREPARED,
                timeout=0,
            )
            for _ in range(READERS):
                connection = await aiosqlite.connect(
                    self._uri,
                    uri=True,
                    isolation_level=None,
                    cached_statements=_PREPARED,
                    timeout=BUSY_MILLIS / 1000,
                )
                self._connections.append(connection)
        except BaseException:
            await self.close()
            raise
        self._next = cycle(self._connections)

    async def close(self) -> None:
        if self._here is not None:
            self._here.close()
            self._here = None
        while self._connections:
            await self._connections.pop().close()

    async def all(self, sql: str, *values: object) -> list[Row]:
        """Any number of rows."""
        if not self._connections:
            raise closed_error()
        try:
            found = await next(self._next).execute_fetchall(sql, values)
        except (sqlite3.Error, UnicodeEncodeError) as exc:
            raise engine_error(exc) from exc
        except ValueError as exc:
            # aiosqlite's way of saying that the connection was closed meanwhile.
            raise closed_error() from exc
        return cast("list[Any]", found)

    async def few(self, sql: str, *values: object) -> list[Row]:
        """Rows that an index leads to, no more than their keys name."""
        if self._here is None:
            raise closed_error()
        try:
            return self._here.execute(sql, values).fetchall()
        except (sqlite3.Error, UnicodeEncodeError) as exc:
            if primary_code(exc) != sqlite3.SQLITE_BUSY:
                raise engine_error(exc) from exc
        return await self.all(sql, *values)  # where it can wait

    async def one(self, sql: str, *values: object) -> Row | None:
        """The row that a key leads to."""
        found = await self.few(sql, *values)
        return found[0] if found else None
