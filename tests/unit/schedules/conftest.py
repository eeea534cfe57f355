"""The store that schedules run on, where no store has a say in it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from gateway.engine.ports import SessionStore
from gateway.stores.memory import MemoryStore


@pytest.fixture
async def store() -> AsyncIterator[SessionStore]:
    store = MemoryStore()
    await store.open()
    yield store
    await store.close()
