"""The stores that the outbox works on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.engine.ports import SessionStore
from gateway.stores.memory import MemoryStore
from gateway.stores.postgres import PostgresStore
from gateway.stores.sqlite import SqliteStore


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SessionStore]:
    """Each of them, open and empty."""
    made: SessionStore
    match request.param:
        case "memory":
            made = MemoryStore()
        case "sqlite":
            made = SqliteStore(tmp_path / "june.db")
        case _:
            made = PostgresStore(request.getfixturevalue("postgres_url"))
    await made.open()
    yield made
    await made.close()


@pytest.fixture
async def memory() -> AsyncIterator[SessionStore]:
    """For what no store has a say in."""
    made = MemoryStore()
    await made.open()
    yield made
    await made.close()
