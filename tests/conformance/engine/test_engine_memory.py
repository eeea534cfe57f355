"""The engine keeps its promises on the memory store, as far as that one goes."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from gateway.stores.memory import MemoryStore
from tests.conformance.engine.kit import Bench
from tests.conformance.engine.suite import *  # noqa: F403


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench(MemoryStore)
    await bench.open()
    yield bench
    await bench.close()
