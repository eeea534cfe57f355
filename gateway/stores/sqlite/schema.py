"""Opening a database file: pragmas, schema version, migration after a verified copy."""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from gateway.engine.errors import ConfigError, SchemaTooNewError, StoreUnavailableError
from gateway.stores.sql import Migration, load_queries
from gateway.stores.sqlite.faults import primary_code

_SQL = load_queries("sqlite")
_NOT_A_DATABASE = 26
_AFTER_SEMICOLON = re.compile(r"(?<=;)")
_log = logging.getLogger(__name__)

BUSY_MILLIS = 5000


def connect(path: Path) -> sqlite3.Connection:
    """The writing connection. A new file is for its owner's eyes only: it holds conversations."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, cached_statements=512
    )
    try:
        _configure(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _configure(connection: sqlite3.Connection, path: Path) -> None:
    try:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLIS}")
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
    except sqlite3.DatabaseError as exc:
        if primary_code(exc) == _NOT_A_DATABASE:
            raise ConfigError(
                f"{path} is not an SQLite database",
                fix="point DATABASE_URL at another file; this one was left as it is",
            ) from exc
        raise
    if mode != "wal":
        raise ConfigError(
            f"{path} can't use a write-ahead log (SQLite answered {mode!r})",
            fix="keep the database on a local disk, not on a network share",
        )


def migrate(
    connection: sqlite3.Connection, path: Path, migrations: tuple[Migration, ...]
) -> Path | None:
    """Bring the schema to the newest version. Returns the path of the copy made before, if any."""
    current, newest = schema_version(connection), migrations[-1].version
    if current > newest:
        raise SchemaTooNewError(
            f"{path} has schema version {current}; this release knows versions up to {newest}",
            fix="start the release that wrote it, or a newer one",
        )
    if current == newest:
        return None
    copy = _verified_copy(connection, path, current) if current else None
    connection.execute("BEGIN IMMEDIATE")
    try:
        for migration in migrations[current:]:
            for statement in statements(migration.script):
                connection.execute(statement)
            connection.execute(_SQL["record_version"], (migration.version,))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    _log.info("schema of %s is now version %d", path, newest)
    return copy


def schema_version(connection: sqlite3.Connection) -> int:
    """0 for a file the gateway never used."""
    if connection.execute(_SQL["has_schema"]).fetchone() is None:
        return 0
    (version,) = connection.execute(_SQL["schema_version"]).fetchone()
    return int(version)


def fingerprint(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    """The engine's own objects and whatever hangs on its tables."""
    return connection.execute(_SQL["fingerprint"]).fetchall()


def statements(script: str) -> Iterator[str]:
    """The statements of a script one by one: ``executescript`` would commit first."""
    pending = ""
    for part in _AFTER_SEMICOLON.split(script):
        pending += part
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""


def _verified_copy(connection: sqlite3.Connection, path: Path, version: int) -> Path:
    """A whole copy beside the database, read back before the original is touched."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    copy = path.with_name(f"{path.name}.v{version}-{stamp}.bak")
    _log.info("copying %s to %s before its schema changes", path, copy)
    copy.unlink(missing_ok=True)
    connection.execute("VACUUM INTO ?", (str(copy),))
    copy.chmod(0o600)
    with closing(sqlite3.connect(copy, isolation_level=None)) as check:
        found = check.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if found != "ok" or schema_version(check) != version:
            raise StoreUnavailableError(
                f"the copy {copy} made before the migration is damaged ({found});"
                " the database was not touched",
                fix="check the disk, then start again",
            )
    return copy
