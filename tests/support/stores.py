"""Each of the stores in its turn, for what must not hang on which one keeps it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.engine.ports import SessionStore
from gateway.stores.memory import MemoryStore
from gateway.stores.postgres import PostgresStore
from gateway.stores.sqlite import SqliteStore

EACH = ["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
"""The params of a fixture that opens one."""


@asynccontextmanager
async def opened(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[SessionStore]:
    """The one that a fixture with these params asks for, empty."""
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
