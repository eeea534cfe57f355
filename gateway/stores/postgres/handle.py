"""The guarded view of a psycopg connection that a sync tool gets."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import psycopg

from gateway.stores.handle import FetchedRows, HandleError
from gateway.stores.postgres.faults import RERUN, sqlstate
from gateway.stores.postgres.guard import Admitted, admitted

Connection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"
_Run: TypeAlias = "Callable[[psycopg.RawCursor[Any]], FetchedRows]"

SECOND = b"SAVEPOINT gw_statement"
NEXT = b"RELEASE SAVEPOINT gw_statement; SAVEPOINT gw_statement"


def too_long(limit: float) -> str:
    return f"the tool held the store for over {limit:g} s and was stopped"


class PostgresHandle:
    """Valid during one call and on its thread only.

    Every statement stands behind a savepoint: one that fails leaves the transaction as usable as it
    is on SQLite. Before the first it is ``gw_tool``, which whoever makes the handle has set.
    """

    dialect = "postgresql"

    def __init__(self, connection: Connection, *, limit: float) -> None:
        self._connection = connection
        self._thread = threading.get_ident()
        self._limit = limit
        self._deadline = time.monotonic() + limit
        self._open = True
        self._savepoint = ""
        self.temporary = False
        """Something may be left in ``pg_temp``."""
        self.rerun = False
        """The transaction lost a race; whatever the tool made of it, it has to run again."""

    def close(self) -> None:
        self._open = False

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> FetchedRows:
        statement = self._admit(sql)
        _check_parameters(parameters)

        def run(cursor: psycopg.RawCursor[Any]) -> FetchedRows:
            text = statement.sql.encode()
            # The server takes one statement and no more by the protocol that the driver speaks for
            # parameters, for a stream, and for binary answers.
            if not parameters and statement.rows:
                return _streamed(cursor, text)
            cursor.execute(text, tuple(parameters), binary=not parameters)
            rows = cursor.fetchall() if cursor.description is not None else []
            return FetchedRows(rows, cursor.rowcount)

        return self._run(run)

    def executemany(self, sql: str, parameters: Sequence[Sequence[object]]) -> FetchedRows:
        statement = self._admit(sql).sql.encode()

        def run(cursor: psycopg.RawCursor[Any]) -> FetchedRows:
            count = 0
            for row in parameters:
                _check_parameters(row)
                cursor.execute(statement, tuple(row))
                count += max(cursor.rowcount, 0)
            return FetchedRows([], count)

        return self._run(run)

    def _admit(self, sql: str) -> Admitted:
        if not self._open:
            raise HandleError("the store handle is only usable inside the tool's own call")
        if threading.get_ident() != self._thread:
            raise HandleError("the store handle works on the tool's own thread only")
        if time.monotonic() > self._deadline:
            raise HandleError(too_long(self._limit))
        statement = admitted(sql)
        self.temporary = self.temporary or statement.temporary
        return statement

    def _run(self, run: _Run) -> FetchedRows:
        cursor = psycopg.RawCursor(self._connection)
        if self._savepoint:
            self._connection.execute(NEXT if self._savepoint == "gw_statement" else SECOND)
            self._savepoint = "gw_statement"
        else:
            self._savepoint = "gw_tool"
        try:
            return run(cursor)
        except psycopg.Error as exc:
            self._note(exc)
            raise

    def _note(self, exc: psycopg.Error) -> None:
        self.rerun = self.rerun or sqlstate(exc) in RERUN
        if not self._connection.closed:
            self._connection.execute(b"ROLLBACK TO SAVEPOINT " + self._savepoint.encode())


def _check_parameters(parameters: Sequence[object]) -> None:
    if not isinstance(parameters, tuple | list):
        raise HandleError("parameters are a tuple or a list, one value per ?")


def _streamed(cursor: psycopg.RawCursor[Any], text: bytes) -> FetchedRows:
    try:
        rows = list(cursor.stream(text))
    except psycopg.ProgrammingError as exc:
        if exc.sqlstate is None:  # it ran, and answered without rows after all
            return FetchedRows([], -1)
        raise
    return FetchedRows(rows, len(rows))
