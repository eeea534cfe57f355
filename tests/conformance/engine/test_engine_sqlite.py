"""The engine keeps its promises on SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from gateway.stores.sqlite import SqliteStore
from tests.conformance.engine.kit import Bench
from tests.conformance.engine.suite import *  # noqa: F403


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    path = tmp_path / "june.db"

    def query(sql: str) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(path)) as connection:
            return connection.execute(sql).fetchall()

    bench = Bench(partial(SqliteStore, path), query=query)
    await bench.open()
    yield bench
    await bench.close()
