"""Sync tools on the writer's connection: what they may do there, and for how long.

A tool shares a transaction with its neighbours' steps. So it never sees the connection: it gets a
handle whose statements pass an SQLite authorizer. That authorizer is installed once, because
setting one throws away every prepared statement, and looks at a flag that is up while a tool runs;
tools' statements carry a comment in front, so that they never meet one the engine prepared.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Any, cast

from gateway.engine.records import LocalCall, Rows
from gateway.stores.handle import FetchedRows, HandleError
from gateway.stores.sqlite.faults import is_outage, primary_code
from gateway.stores.sqlite.schema import fingerprint

SLOW_SECONDS = 0.025
QUICK_CALLS = 20
"""This many quick calls in a row, and a tool that was slow shares groups again."""
_AUTH, _INTERRUPT = 23, 9
_log = logging.getLogger(__name__)

_DENIED = {
    sqlite3.SQLITE_TRANSACTION: "a tool can't begin or end the store's transaction",
    sqlite3.SQLITE_SAVEPOINT: "a tool can't set or release savepoints",
    sqlite3.SQLITE_ATTACH: "a tool can't attach databases",
    sqlite3.SQLITE_DETACH: "a tool can't detach databases",
    sqlite3.SQLITE_PRAGMA: "a tool can't use PRAGMA",
    sqlite3.SQLITE_ANALYZE: "a tool can't use ANALYZE",
}
_SECOND_NAMES_A_TABLE = frozenset({
    sqlite3.SQLITE_CREATE_INDEX, sqlite3.SQLITE_CREATE_TEMP_INDEX, sqlite3.SQLITE_DROP_INDEX,
    sqlite3.SQLITE_DROP_TEMP_INDEX, sqlite3.SQLITE_CREATE_TRIGGER,
    sqlite3.SQLITE_CREATE_TEMP_TRIGGER, sqlite3.SQLITE_DROP_TRIGGER,
    sqlite3.SQLITE_DROP_TEMP_TRIGGER, sqlite3.SQLITE_ALTER_TABLE,
})  # fmt: skip
_CHANGES_SCHEMA = _SECOND_NAMES_A_TABLE | {
    sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_CREATE_TEMP_TABLE, sqlite3.SQLITE_DROP_TABLE,
    sqlite3.SQLITE_DROP_TEMP_TABLE, sqlite3.SQLITE_CREATE_VIEW, sqlite3.SQLITE_CREATE_TEMP_VIEW,
    sqlite3.SQLITE_DROP_VIEW, sqlite3.SQLITE_DROP_TEMP_VIEW, sqlite3.SQLITE_CREATE_VTABLE,
    sqlite3.SQLITE_DROP_VTABLE,
}  # fmt: skip
_ENGINE_TABLE = "the engine's own tables (gw_…) are out of a tool's reach"


class _Visit:
    """One tool's stay on the connection."""

    __slots__ = ("began", "call", "changed_schema", "outage", "overdue", "refusal", "thread")

    def __init__(self, call: LocalCall) -> None:
        self.call = call
        self.began = time.monotonic()
        self.thread = threading.get_ident()
        self.refusal = ""
        self.changed_schema = False
        self.overdue = False
        self.outage: sqlite3.Error | None = None


_Run = Callable[[str, object, bool], FetchedRows]


class ToolHandle:
    """The ``SqlHandle`` of one call; dead once the call is over."""

    __slots__ = ("_run",)

    def __init__(self, run: _Run) -> None:
        self._run = run

    @property
    def dialect(self) -> str:
        return "sqlite"

    def execute(self, sql: str, parameters: tuple[object, ...] | list[object] = ()) -> Rows:
        return self._run(sql, parameters, False)

    def executemany(self, sql: str, parameters: list[tuple[object, ...]]) -> Rows:
        return self._run(sql, parameters, True)


class Guard:
    """Runs tools' calls, one at a time, on the writer's thread.

    ``limit`` is how many seconds a call may hold the writer before its SQL is interrupted.
    """

    def __init__(self, connection: sqlite3.Connection, limit: float) -> None:
        self._connection = connection
        self._limit = limit
        self._lock = threading.Lock()
        self._visit: _Visit | None = None
        self._schema = fingerprint(connection)
        self._slow: dict[str, int] = {}
        """Tools that held the writer too long, and how many quick calls each still owes."""
        connection.set_authorizer(self._authorize)

    def is_slow(self, tool: str) -> bool:
        """Whether this tool held the writer for too long before and runs apart from others."""
        return tool in self._slow

    def run(self, call: LocalCall) -> tuple[object, BaseException | None]:
        """The call's result or what it raised.

        Raises the SQLite error itself when it was the store that failed, not the tool.
        """
        visit = _Visit(call)
        result: object = None
        error: BaseException | None = None
        self._enter(visit)
        try:
            result = call.run(ToolHandle(self._executor(visit)))
        except BaseException as exc:  # noqa: BLE001 - whatever a tool raises is its result
            error = exc
        finally:
            self._leave()
        self._note_time(visit)
        if visit.outage is not None:
            raise visit.outage
        return result, error or self._verdict(visit)

    # -- called by the event loop --------------------------------------------------------------
    def interrupt_overdue(self) -> None:
        """Stop the SQL of a call that is over its time. Asked for again and again, since only a
        statement that is running can be stopped."""
        with self._lock:
            visit = self._visit
            if visit is not None and time.monotonic() - visit.began > self._limit:
                visit.overdue = True
                self._connection.interrupt()

    @property
    def stuck(self) -> tuple[str, str, float] | None:
        """Tool, turn and seconds of a call that is over its time and still hasn't returned."""
        visit = self._visit
        if visit is None:
            return None
        seconds = time.monotonic() - visit.began
        return (visit.call.tool, visit.call.turn_id, seconds) if seconds > self._limit else None

    # -- one call ------------------------------------------------------------------------------
    def _enter(self, visit: _Visit) -> None:
        with self._lock:
            self._visit = visit

    def _leave(self) -> None:
        with self._lock:
            self._visit = None

    def _executor(self, visit: _Visit) -> _Run:
        connection = self._connection

        def run(sql: str, parameters: object, many: bool) -> FetchedRows:
            self._check(visit)
            values = _positional(parameters)
            cursor = connection.cursor()
            try:
                text = f"/* tool */ {sql}"
                if many:
                    cursor.executemany(text, values)
                else:
                    cursor.execute(text, values)
                return FetchedRows(cursor.fetchall(), cursor.rowcount)
            except sqlite3.Error as exc:
                self._explain(visit, exc)
                raise
            finally:
                cursor.close()

        return run

    def _check(self, visit: _Visit) -> None:
        if threading.get_ident() != visit.thread:
            raise HandleError("the store handle works on the tool's own thread only")
        if self._visit is not visit:
            raise HandleError("the store handle is only usable inside the tool's own call")
        if visit.overdue:
            raise HandleError(self._too_long())
        if not self._connection.in_transaction:
            raise HandleError(_LOST)

    def _explain(self, visit: _Visit, error: sqlite3.Error) -> None:
        code = primary_code(error)
        if code == _AUTH:
            refusal, visit.refusal = visit.refusal, ""
            raise HandleError(refusal or str(error)) from error
        if code == _INTERRUPT and visit.overdue:
            raise HandleError(self._too_long()) from error
        if is_outage(error):
            visit.outage = error

    def _verdict(self, visit: _Visit) -> HandleError | None:
        """What is wrong with a call that returned as if all were well."""
        if visit.overdue:
            return HandleError(self._too_long())
        if not self._connection.in_transaction:
            return HandleError(_LOST)
        if visit.changed_schema and fingerprint(self._connection) != self._schema:
            return HandleError(
                "a tool can't change, name or point foreign keys at the engine's tables (gw_…)"
            )
        return None

    def _note_time(self, visit: _Visit) -> None:
        held = time.monotonic() - visit.began
        visit.overdue = visit.overdue or held > self._limit
        tool = visit.call.tool
        if held <= SLOW_SECONDS:
            # A busy machine can make a harmless tool slow once: it earns its place back.
            if tool in self._slow:
                self._slow[tool] -= 1
                if self._slow[tool] == 0:
                    del self._slow[tool]
            return
        self._slow[tool] = QUICK_CALLS
        _log.warning(
            "tool %s held the store for %.0f ms in turn %s; while it did nobody else could write,"
            " and for now it commits apart from others: a sync tool should only touch the store",
            tool,
            held * 1000,
            visit.call.turn_id,
        )

    def _too_long(self) -> str:
        return f"the tool held the store for over {self._limit:g} s and was stopped"

    def _authorize(
        self,
        action: int,
        first: str | None,
        second: str | None,
        _database: str | None,
        _inside: str | None,
    ) -> int:
        visit = self._visit
        if visit is None:
            return sqlite3.SQLITE_OK
        refusal = _refusal(action, (first or "").lower(), (second or "").lower())
        if refusal:
            visit.refusal = refusal
            return sqlite3.SQLITE_DENY
        if action in _CHANGES_SCHEMA:
            visit.changed_schema = True
        return sqlite3.SQLITE_OK


def _positional(parameters: object) -> list[Any]:
    if not isinstance(parameters, (tuple, list)):
        raise HandleError("parameters are a tuple or a list, one value per ?")
    return cast("list[Any]", parameters)


_LOST = "the tool's statement ended the store's transaction; nothing it wrote is kept"


def _refusal(action: int, first: str, second: str) -> str:
    if action == sqlite3.SQLITE_PRAGMA and (first, second) == ("data_version", ""):
        return ""  # full-text search reads it by itself
    if action in _DENIED:
        return _DENIED[action]
    if action == sqlite3.SQLITE_FUNCTION:
        return "a tool can't load extensions" if second == "load_extension" else ""
    if first.startswith(("gw_", "sqlite_dbpage")):
        return _ENGINE_TABLE
    if action in _SECOND_NAMES_A_TABLE and second.startswith("gw_"):
        return _ENGINE_TABLE
    return ""
