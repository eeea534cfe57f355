"""Reading connections: read-only, apart from the writer, one hop to a thread per statement.

They see what is committed and nothing else. A few are enough: a statement takes microseconds, and
the hop costs more than the reading.
"""

from __future__ import annotations

import sqlite3
from itertools import cycle
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import aiosqlite

from gateway.stores.sqlite.faults import closed_error, engine_error
from gateway.stores.sqlite.rows import Row
from gateway.stores.sqlite.schema import BUSY_MILLIS

READERS = 2


class Readers:
    """A handful of connections, used in turn."""

    def __init__(self, path: Path) -> None:
        self._uri = f"file:{quote(str(path))}?mode=ro"
        self._connections: list[aiosqlite.Connection] = []
        self._next = cycle(self._connections)

    async def open(self) -> None:
        try:
            for _ in range(READERS):
                connection = await aiosqlite.connect(
                    self._uri,
                    uri=True,
                    isolation_level=None,
                    cached_statements=256,
                    timeout=BUSY_MILLIS / 1000,
                )
                self._connections.append(connection)
        except BaseException:
            await self.close()
            raise
        self._next = cycle(self._connections)

    async def close(self) -> None:
        while self._connections:
            await self._connections.pop().close()

    async def all(self, sql: str, *values: object) -> list[Row]:
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

    async def one(self, sql: str, *values: object) -> Row | None:
        found = await self.all(sql, *values)
        return found[0] if found else None
