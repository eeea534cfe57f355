"""What an SQLite error means to the engine."""

from __future__ import annotations

import sqlite3

from gateway.engine.errors import InvalidInputError, StoreUnavailableError, WriteConflictError

_CONSTRAINT = 19
_OUTAGES = {
    5: "the database is locked by another program",
    6: "the database is locked by another program",
    7: "no memory is left",
    8: "the database can't be written",
    9: "the statement was interrupted",
    10: "the disk reports an error",
    11: "the database file is damaged",
    13: "the disk is full",
    14: "the database file can't be opened",
    15: "the database is locked by another program",
    26: "the file is not a database",
}
_FIXES = {
    5: "find what else opened the file (fuser on it) and close it",
    11: "run the SQLite shell's .recover on a copy, or restore a backup",
    13: "free some space; the gateway goes on by itself",
}
_CLOSED = "the store is closed"


def primary_code(error: BaseException) -> int:
    """SQLite's primary result code, 0 where Python itself raised."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def is_outage(error: BaseException) -> bool:
    """Whether the store, not the statement, is at fault: the same write may succeed later."""
    if not isinstance(error, sqlite3.Error):
        return False
    code = primary_code(error)
    return (code in _OUTAGES and code != 9) or _is_closed(error)


def engine_error(error: BaseException) -> BaseException:
    """The error as the store seam names it; others pass as they are."""
    if isinstance(error, UnicodeEncodeError):
        return InvalidInputError("a text holds half of a surrogate pair, which no store can keep")
    if not isinstance(error, sqlite3.Error):
        return error
    code = primary_code(error)
    if code == _CONSTRAINT:
        return WriteConflictError(f"the store refused a row: {error}")
    if _is_closed(error):
        return StoreUnavailableError(_CLOSED)
    if code in _OUTAGES:
        return StoreUnavailableError(f"{_OUTAGES[code]} ({error})", fix=_FIXES.get(code, ""))
    return error


def closed_error() -> StoreUnavailableError:
    return StoreUnavailableError(_CLOSED)


def _is_closed(error: sqlite3.Error) -> bool:
    return isinstance(error, sqlite3.ProgrammingError) and "closed database" in str(error)
