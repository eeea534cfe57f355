"""The SQLite store passes the suite."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, closing
from pathlib import Path

import pytest

from gateway.engine.ports import SessionStore
from gateway.stores.sqlite import SqliteStore
from tests.conformance.store.ledger.suite import LedgerSuite
from tests.conformance.store_kit import Reopen, Restamp
from tests.conformance.store_suite import StoreSuite


class TestSqliteStore(StoreSuite, LedgerSuite):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[SessionStore]:
        store = SqliteStore(tmp_path / "june.db")
        await store.open()
        yield store
        await store.close()

    @pytest.fixture
    async def reopen(self, store: SessionStore, tmp_path: Path) -> AsyncIterator[Reopen]:
        async with AsyncExitStack() as stack:

            async def again() -> SessionStore:
                await store.close()
                other = SqliteStore(tmp_path / "june.db")
                stack.push_async_callback(other.close)
                await other.open()
                return other

            yield again

    @pytest.fixture
    def restamp(self, store: SessionStore, tmp_path: Path) -> Restamp:
        async def stamp(version: int) -> None:
            await store.close()
            with closing(sqlite3.connect(tmp_path / "june.db")) as connection, connection:
                connection.execute("UPDATE gw_schema SET version = ?", (version,))

        return stamp
