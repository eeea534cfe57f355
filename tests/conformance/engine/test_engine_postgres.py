"""The engine keeps its promises on PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

import psycopg
import pytest

from gateway.stores.postgres import PostgresStore
from tests.conformance.engine.kit import Bench
from tests.conformance.engine.suite import *  # noqa: F403

pytestmark = pytest.mark.postgres


@pytest.fixture
async def bench(postgres_url: str) -> AsyncIterator[Bench]:
    def query(sql: str) -> list[tuple[object, ...]]:
        with psycopg.connect(postgres_url) as connection:
            return connection.execute(sql.replace("gw_", "gw.").encode()).fetchall()

    def forget() -> None:
        with psycopg.connect(postgres_url) as connection:
            connection.execute("DELETE FROM gw.hosts")

    bench = Bench(partial(PostgresStore, postgres_url), forget=forget, query=query)
    await bench.open()
    yield bench
    await bench.close()
