"""The memory store passes the suite, as far as it claims to go."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from gateway.engine.ports import SessionStore
from gateway.stores.memory import MemoryStore
from tests.conformance.store.ledger.suite import LedgerSuite
from tests.conformance.store_kit import Reopen, Restamp
from tests.conformance.store_suite import StoreSuite


class TestMemoryStore(StoreSuite, LedgerSuite):
    @pytest.fixture
    async def store(self) -> AsyncIterator[SessionStore]:
        store = MemoryStore()
        await store.open()
        yield store
        await store.close()

    @pytest.fixture
    def reopen(self) -> Reopen:
        pytest.skip("nothing survives")

    @pytest.fixture
    def restamp(self) -> Restamp:
        pytest.skip("nothing survives")
