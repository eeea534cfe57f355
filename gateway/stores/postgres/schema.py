"""What has to stand in the database before the store works: the schema and the tools' role.

The role is named after the database (``gw_tool_<database>``), because roles belong to the server and
a database restored elsewhere comes without them. It may create tables in the application's schema
(the first of the user's ``search_path``, normally ``public``) and use all that the application's user
made or will make there. What a tool creates belongs to the role, of which the user is a member. A
table of a third owner needs that owner's GRANT.
"""

from __future__ import annotations

import hashlib

import asyncpg

from gateway.engine.errors import ConfigError, SchemaTooNewError
from gateway.engine.struct import struct
from gateway.stores.postgres.faults import translated
from gateway.stores.postgres.link import LOST, Connection
from gateway.stores.sql import load_migrations, load_queries

SQL = load_queries("postgres")
MIGRATIONS = load_migrations("postgres")
VERSION = MIGRATIONS[-1].version

OLDEST_SERVER = 130_000
NAME_BYTES = 63


@struct(frozen=True, slots=True)
class Place:
    """What the store learns about the database when it opens."""

    user: str
    database: str
    schema: str
    """The application's schema: where tools create and find their tables."""
    search_path: str
    role: str
    """The role that tools write under."""


async def prepare(connection: Connection) -> Place:
    """Check the server, bring the schema up to this release, see to the tools' role.

    ``connection`` must have the search path of the application, not the engine's.
    """
    try:
        return await _prepare(connection)
    except (asyncpg.PostgresError, *LOST) as exc:
        raise translated(exc) from exc


async def _prepare(connection: Connection) -> Place:
    (row,) = await connection.fetch(SQL["server"])
    number, encoding, path, schema, user, database, known = row
    if number < OLDEST_SERVER:
        raise ConfigError(
            f"PostgreSQL {number // 10_000} is too old", fix="use PostgreSQL 13 or newer"
        )
    if encoding != "UTF8":
        raise ConfigError(
            f"the database's encoding is {encoding}, which can't hold every text",
            fix=f"create it anew: CREATE DATABASE {quoted(database)} ENCODING 'UTF8'"
            " TEMPLATE template0",
        )
    place = Place(user, database, schema, path, tool_role(database))
    if not known or await _version(connection) != VERSION:
        await _migrate(connection, place)
    await _see_to_role(connection, place)
    return place


async def _version(connection: Connection) -> int:
    return await connection.fetchval(SQL["schema_version"]) or 0


async def _migrate(connection: Connection, place: Place) -> None:
    """All that is missing, in one transaction, while other hosts that start wait."""
    async with connection.transaction():
        await connection.execute(SQL["lock_migrations"])
        if not await connection.fetchval("SELECT to_regnamespace('gw') IS NOT NULL"):
            await _make_schema(connection, place)
        there = await connection.fetchval("SELECT to_regclass('gw.schema') IS NOT NULL")
        found = await _version(connection) if there else 0
        if found > VERSION:
            raise SchemaTooNewError(
                f"the database has schema version {found}, this release knows {VERSION}",
                fix="run the release that migrated it, or a newer one",
            )
        for migration in MIGRATIONS[found:]:
            await connection.execute(migration.script)
            await connection.execute(SQL["record_version"], migration.version)
        await connection.execute(SQL["forget_hosts"])


async def _make_schema(connection: Connection, place: Place) -> None:
    try:
        await connection.execute("CREATE SCHEMA gw")
    except asyncpg.InsufficientPrivilegeError as exc:
        raise ConfigError(
            f"user {place.user!r} may not create the engine's schema",
            fix=f"as owner of the database: CREATE SCHEMA gw AUTHORIZATION {quoted(place.user)};",
        ) from exc


async def _see_to_role(connection: Connection, place: Place) -> None:
    if await _role_works(connection, place):
        return
    try:
        async with connection.transaction():
            await connection.execute(SQL["lock_migrations"])
            if not await _role_works(connection, place):
                await _make_role(connection, place)
    except (asyncpg.InsufficientPrivilegeError, asyncpg.DuplicateObjectError) as exc:
        raise _no_role(place) from exc
    if not await _role_works(connection, place):
        # A GRANT that the user has no right to make is a warning, not an error.
        raise _no_role(place)


async def _role_works(connection: Connection, place: Place) -> bool:
    row = await connection.fetchrow(SQL["tool_role"], place.role, place.schema)
    return row is not None and all(row)


async def _make_role(connection: Connection, place: Place) -> None:
    known = await connection.fetchval("SELECT to_regrole($1) IS NOT NULL", quoted(place.role))
    for name in role_steps()[1 if known else 0 :]:
        await connection.execute(_for(place, name))
    for row in await connection.fetch(SQL["earlier_tables"], place.role, place.schema):
        await connection.execute(row[0])


def role_steps() -> tuple[str, ...]:
    return ("make_tool_role", "grant_tool_role", "grant_tool_schema", "grant_tool_tables")


def _no_role(place: Place) -> ConfigError:
    lines = [" ".join(_for(place, name).split()) for name in role_steps()]
    return ConfigError(
        f"sync tools write under the role {place.role!r}, which user {place.user!r} can't set up",
        fix="as a superuser, in this database: "
        + "; ".join(lines[:-1])
        + f"; then as {place.user}: {lines[-1]};",
    )


def _for(place: Place, name: str) -> str:
    return (
        SQL[name]
        .replace("<role>", quoted(place.role))
        .replace("<user>", quoted(place.user))
        .replace("<schema>", quoted(place.schema))
    )


def tool_role(database: str) -> str:
    name = f"gw_tool_{database}"
    if len(name.encode()) <= NAME_BYTES:
        return name
    return f"gw_tool_{hashlib.sha256(database.encode()).hexdigest()[:32]}"


def quoted(name: str) -> str:
    """As an identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """As a string constant, whatever ``standard_conforming_strings`` says."""
    escaped = text.replace("'", "''")
    return f"'{escaped}'" if "\\" not in text else " E'" + escaped.replace("\\", "\\\\") + "'"
