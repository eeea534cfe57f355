"""Store promises about requests that are over: who looks for a decision finds it."""

from __future__ import annotations

from dataclasses import replace

from gateway.engine.kinds import Outcome, SessionRef
from gateway.engine.ports import SessionStore
from gateway.engine.records import Writes
from tests.conformance.store_kit import at, begin, request


class PastPromises:
    async def test_past_requests_are_listed_latest_first(self, store: SessionStore) -> None:
        ends: tuple[Outcome | None, ...] = ("approved", "expired", None, "denied", "cancelled")
        for k, outcome in enumerate((*ends, "answered")):
            turn, fence = await begin(store, SessionRef("june", f"s{k}"))
            asked = replace(request(turn, f"r{k}"), created_at=at(k), outcome=outcome)
            await store.commit(fence, Writes(requests=(asked,)))

        async def listed(decided: bool, limit: int = 50) -> list[tuple[str, str]]:
            found = await store.list_past_requests(decided=decided, limit=limit)
            return [(row.ref.key, row.request.id) for row in found]

        assert await listed(True) == [("s5", "r5"), ("s3", "r3"), ("s0", "r0")]
        assert await listed(False) == [("s4", "r4"), ("s1", "r1")]
        assert await listed(True, 2) == [("s5", "r5"), ("s3", "r3")]
