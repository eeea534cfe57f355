"""The PostgreSQL store passes the whole suite."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest

from gateway.engine.ports import SessionStore
from gateway.stores.postgres import PostgresStore
from gateway.stores.postgres.schema import VERSION
from tests.conformance.store_kit import PATIENCE, Reopen, Restamp
from tests.conformance.store_suite import StoreSuite
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.postgres

EMPTY = f"""
DO $$ DECLARE name regclass; BEGIN
  FOR name IN SELECT oid FROM pg_class WHERE relnamespace = 'gw'::regnamespace AND relkind = 'r'
  LOOP
    IF name <> 'gw.schema'::regclass THEN
      EXECUTE format('TRUNCATE %s RESTART IDENTITY CASCADE', name);
    END IF;
  END LOOP;
  DELETE FROM gw.schema WHERE version > {VERSION};
  DROP SCHEMA public CASCADE;
  CREATE SCHEMA public;
END $$
"""
CONNECTED = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'june-gateway%'"


@pytest.fixture(scope="module")
def database(postgres: PostgresServer) -> Iterator[str]:
    """One database for the suite, emptied after each test: making one takes longer than a test."""
    with postgres.database() as url:
        yield url


@pytest.fixture
async def stores(database: str) -> AsyncIterator[list[PostgresStore]]:
    """Every store of the test, the one under test first."""
    stores = [PostgresStore(database)]
    await stores[0].open()
    yield stores
    for store in stores:
        await store.close()
    empty(database)


def empty(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        deadline = time.monotonic() + PATIENCE
        while connection.execute(CONNECTED).fetchone() != (0,):
            assert time.monotonic() < deadline, "the store left connections open"
            time.sleep(0.01)
        connection.execute(EMPTY.encode())


class TestPostgresStore(StoreSuite):
    @pytest.fixture
    def store(self, stores: list[PostgresStore]) -> SessionStore:
        return stores[0]

    @pytest.fixture
    def reopen(self, stores: list[PostgresStore], database: str) -> Reopen:
        async def reopen() -> SessionStore:
            await stores[-1].close()
            stores.append(PostgresStore(database))
            await stores[-1].open()
            return stores[-1]

        return reopen

    @pytest.fixture
    def restamp(self, stores: list[PostgresStore], database: str) -> Restamp:
        async def restamp(version: int) -> None:
            await stores[-1].close()
            with psycopg.connect(database) as connection:
                connection.execute("INSERT INTO gw.schema (version, at) VALUES (%s, 0)", (version,))

        return restamp
