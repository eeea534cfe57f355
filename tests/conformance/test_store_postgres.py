"""The PostgreSQL store passes the whole suite."""

from __future__ import annotations

from collections.abc import AsyncIterator

import psycopg
import pytest

from gateway.engine.ports import SessionStore
from gateway.stores.postgres import PostgresStore
from tests.conformance.store.ledger.suite import LedgerSuite
from tests.conformance.store_kit import Reopen, Restamp
from tests.conformance.store_suite import StoreSuite

pytestmark = pytest.mark.postgres


@pytest.fixture
async def stores(postgres_url: str) -> AsyncIterator[list[PostgresStore]]:
    """Every store of the test, the one under test first."""
    stores = [PostgresStore(postgres_url)]
    await stores[0].open()
    yield stores
    for store in stores:
        await store.close()


class TestPostgresStore(StoreSuite, LedgerSuite):
    @pytest.fixture
    def store(self, stores: list[PostgresStore]) -> SessionStore:
        return stores[0]

    @pytest.fixture
    def reopen(self, stores: list[PostgresStore], postgres_url: str) -> Reopen:
        async def reopen() -> SessionStore:
            await stores[-1].close()
            stores.append(PostgresStore(postgres_url))
            await stores[-1].open()
            return stores[-1]

        return reopen

    @pytest.fixture
    def restamp(self, stores: list[PostgresStore], postgres_url: str) -> Restamp:
        async def restamp(version: int) -> None:
            await stores[-1].close()
            with psycopg.connect(postgres_url) as connection:
                connection.execute("INSERT INTO gw.schema (version, at) VALUES (%s, 0)", (version,))

        return restamp
