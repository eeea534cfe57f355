"""Which schema a store has and which one this release speaks: looked at, never changed."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from gateway.engine.errors import ConfigError
from gateway.engine.struct import struct
from gateway.stores.sql import load_migrations


@struct(frozen=True, slots=True)
class SchemaVersion:
    """``found`` is 0 for a store that was never used."""

    dialect: str
    place: str
    """The file, or the database's name; never a password."""
    found: int
    known: int
    size: int | None = None
    """Bytes on disk, where that can be told."""


async def schema_version(url: str) -> SchemaVersion:
    """Raises ``ConfigError`` for a URL that names no such store."""
    scheme, _, rest = url.partition("://")
    match scheme:
        case "sqlite":
            return await asyncio.to_thread(_sqlite, Path(rest.removeprefix("/")))
        case "postgresql" | "postgres":
            return await _postgres(url)
        case "memory":
            return SchemaVersion("memory", "this process", 0, 0)
        case _:
            raise ConfigError(f"no store speaks {scheme!r}", fix="gateway config show --origin")


def _sqlite(path: Path) -> SchemaVersion:
    known = load_migrations("sqlite")[-1].version
    if not path.exists():
        return SchemaVersion("sqlite", str(path), 0, known)
    from gateway.stores.sqlite.schema import schema_version as version_of

    size = sum(Path(f"{path}{end}").stat().st_size for end in ("", "-wal") if
               Path(f"{path}{end}").exists())  # fmt: skip
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            return SchemaVersion("sqlite", str(path), version_of(db), known, size)
    except sqlite3.DatabaseError as error:
        raise ConfigError(
            f"{path} can't be read as a database: {error}",
            fix="point DATABASE_URL at another file",
        ) from error


async def _postgres(url: str) -> SchemaVersion:
    import asyncpg

    from gateway.stores.postgres.faults import checked_url, translated
    from gateway.stores.postgres.schema import SQL, VERSION

    try:
        connection = await asyncpg.connect(checked_url(url), timeout=10, command_timeout=10)
        try:
            row = await connection.fetchrow(SQL["server"])
            used = row is not None and row[6]
            found = await connection.fetchval(SQL["schema_version"]) if used else 0
            name = "" if row is None else str(row[5])
        finally:
            await connection.close(timeout=5)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        raise translated(error) from error
    return SchemaVersion("postgresql", name, int(found or 0), VERSION)
