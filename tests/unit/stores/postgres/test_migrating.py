"""A database that the release before this one wrote: it opens, whole, with the schema of a new one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from gateway.stores.postgres import PostgresStore
from gateway.stores.postgres.schema import VERSION
from gateway.stores.sql import load_migrations
from tests.conformance.store.ledger.kit import mark, opened, take, view_of
from tests.conformance.store_kit import REF, accept, claim
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.postgres

Admin = psycopg.Connection[Any]

WRITTEN = """
INSERT INTO gw.schema (version, at) VALUES (1, 5);
INSERT INTO gw.sessions (agent, key, created_at)
  VALUES ('june', 'slack:T1:C1:1700000000.000100', 5);
INSERT INTO gw.mailboxes (session, next_number, active_at) VALUES (1, 2, 5);
INSERT INTO gw.turns (session, turn_id, number, generation, body, content_hash, source, queued_at,
    state, ran, attempts, crashes, suspect, alone)
  VALUES (1, 't1', 1, 0, '{"v":1}', 'h', 'api', 5, 'suspended', 0, 1, 0, 0, false);
INSERT INTO gw.messages (session, generation, idx, turn, role, body)
  VALUES (1, 0, 0, 1, 'user', '{"text":"hello"}');
INSERT INTO gw.claims (key, turn, at, expires_at) VALUES ('k1', 1, 5, 9000000000000);
"""

SCHEMA = """
SELECT 'column', c.relname || '.' || a.attname,
  format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull::text || ' ' || a.attidentity::text || ' '
    || coalesce(pg_get_expr(d.adbin, d.adrelid), '') || ' ' || coalesce(l.collname, '')
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
LEFT JOIN pg_collation l ON l.oid = a.attcollation
WHERE c.relnamespace = 'gw'::regnamespace AND c.relkind = 'r' AND a.attnum > 0
  AND NOT a.attisdropped
UNION ALL SELECT 'table', relname, coalesce(reloptions::text, '') FROM pg_class
WHERE relnamespace = 'gw'::regnamespace AND relkind = 'r'
UNION ALL SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'gw'
UNION ALL SELECT 'constraint', conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE connamespace = 'gw'::regnamespace
UNION ALL SELECT 'function', proname, pg_get_functiondef(oid) FROM pg_proc
WHERE pronamespace = 'gw'::regnamespace
ORDER BY 1, 2, 3
"""


@pytest.fixture
def postgres_url(empty_postgres_url: str) -> str:
    """A database as the first release leaves it, with a turn that waits for an answer."""
    with psycopg.connect(empty_postgres_url) as connection:
        connection.execute("CREATE SCHEMA gw")
        connection.execute(load_migrations("postgres")[0].script.encode())
        connection.execute(WRITTEN.encode())
    return empty_postgres_url


@pytest.fixture
def admin(postgres_url: str) -> Iterator[Admin]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


async def test_the_data_of_the_first_release_opens(postgres_url: str) -> None:
    store = PostgresStore(postgres_url)
    await store.open()
    turn = await store.turn(REF, "t1")
    assert turn is not None
    assert turn.state == "suspended"
    assert [row.body for row in await store.messages(REF, 0)] == ['{"text":"hello"}']
    await mark(store, turn)
    later = await accept(store, turn_id="t2", companions=(claim("k2"), opened()))
    assert (await view_of(store.ledger, "t2")).turn == later.row
    await store.ledger.note([opened(turn=turn.row)])
    assert len(await take(store.ledger)) == 1
    await store.close()


async def test_an_old_database_gets_the_schema_of_a_new_one(
    postgres: PostgresServer, migrated: str, postgres_url: str, admin: Admin
) -> None:
    store = PostgresStore(postgres_url)
    await store.open()
    await store.close()
    found = admin.execute(SCHEMA.encode()).fetchall()
    with postgres.database(migrated) as url, psycopg.connect(url) as other:
        new = other.execute(SCHEMA.encode()).fetchall()
    assert found == new
    assert {kind for kind, *_ in found} == {"column", "table", "index", "constraint", "function"}


async def test_a_migration_that_fails_changes_nothing(postgres_url: str, admin: Admin) -> None:
    """A table of that name stands in the way: the first release's data is as it was."""
    admin.execute("CREATE TABLE gw.files (mine text)")
    before = admin.execute(SCHEMA.encode()).fetchall()
    store = PostgresStore(postgres_url)
    with pytest.raises(Exception, match="files"):
        await store.open()
    await store.close()
    assert admin.execute(SCHEMA.encode()).fetchall() == before
    assert admin.execute("SELECT version FROM gw.schema").fetchall() == [(1,)]
    admin.execute("DROP TABLE gw.files")
    await store.open()
    await store.close()
    assert admin.execute("SELECT max(version) FROM gw.schema").fetchall() == [(VERSION,)]


async def test_hosts_that_find_an_old_database_together_migrate_it_once(
    postgres_url: str, admin: Admin
) -> None:
    stores = [PostgresStore(postgres_url) for _ in range(4)]
    async with asyncio.TaskGroup() as tasks:
        for store in stores:
            tasks.create_task(store.open())
    versions = admin.execute("SELECT version FROM gw.schema ORDER BY version").fetchall()
    assert versions == [(number,) for number in range(1, VERSION + 1)]
    for store in stores:
        await store.close()


async def test_a_host_of_the_first_release_may_still_accept_turns(
    postgres_url: str, admin: Admin
) -> None:
    """While hosts are replaced one by one: its statements name no column that is gone."""
    store = PostgresStore(postgres_url)
    await store.open()
    admin.execute(
        "INSERT INTO gw.turns (session, turn_id, number, generation, body, content_hash, source,"
        " queued_at, state, ran, attempts, crashes, suspect, alone)"
        " VALUES (1, 't2', 2, 0, '{}', 'h', 'api', 5, 'queued', 0, 0, 0, 0, false)"
    )
    assert admin.execute("SELECT delivers FROM gw.turns").fetchall() == [(False,), (False,)]
    await store.close()
