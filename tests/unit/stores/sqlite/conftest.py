"""An opened SQLite store, and a way to reach its connection where a test must break something."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.stores.sqlite import SqliteStore

TOOL_LIMIT = 0.3


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "june.db", tool_limit=TOOL_LIMIT)
    await store.open()
    yield store
    await store.close()


@pytest.fixture
def connection(store: SqliteStore) -> sqlite3.Connection:
    """The writer's own. Only for when the writer is idle."""
    assert store._opened is not None
    return store._opened.connection
