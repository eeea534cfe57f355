"""The stores that the outbox works on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.engine.ports import SessionStore
from gateway.stores.memory import MemoryStore
from tests.support.stores import EACH, opened


@pytest.fixture(params=EACH)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SessionStore]:
    """Each of them, open and empty."""
    async with opened(request, tmp_path) as made:
        yield made


@pytest.fixture
async def memory() -> AsyncIterator[SessionStore]:
    """For what no store has a say in."""
    made = MemoryStore()
    await made.open()
    yield made
    await made.close()
