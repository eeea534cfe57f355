"""Store promises about the audit: read back as written, in pages, by what it speaks of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.engine.errors import StoreUnavailableError
from gateway.engine.ports import SessionStore
from gateway.engine.records import Audit, Writes
from tests.conformance.store_kit import OTHER, REF, at, begin

ROW = Audit(
    at=at(1), kind="outcome_unknown", agent=REF.agent, session=REF.key, turn_id="t1",
    subject="tool:1:c1", by="slack:T1:U1", digest="d1", outcome="unknown",
)  # fmt: skip


class AuditPromises:
    async def test_an_audit_row_comes_back_as_it_was_written(self, store: SessionStore) -> None:
        assert list(await store.list_audit()) == []
        _, fence = await begin(store)
        bare = replace(ROW, by=None, digest=None, subject="é🙂 \\ %")
        await store.commit(fence, Writes(companions=(ROW, bare)))
        assert [one.row for one in await store.list_audit()] == [bare, ROW]

    async def test_the_audit_is_read_in_pages_the_latest_first(self, store: SessionStore) -> None:
        _, fence = await begin(store)
        for k in range(5):
            # Their order is that of writing; what a clock said is another matter.
            await store.commit(fence, Writes(companions=(replace(ROW, at=at(-k), subject=f"{k}"),)))
        first = await store.list_audit(limit=2)
        assert [one.row.subject for one in first] == ["4", "3"]
        await store.commit(fence, Writes(companions=(replace(ROW, subject="5"),)))
        second = await store.list_audit(before=first[-1].number, limit=2)
        assert [one.row.subject for one in second] == ["2", "1"]
        third = await store.list_audit(before=second[-1].number, limit=2)
        assert [one.row.subject for one in third] == ["0"]
        assert list(await store.list_audit(before=third[-1].number)) == []
        numbers = [one.number for one in await store.list_audit()]
        assert numbers == sorted(set(numbers), reverse=True)
        assert all(number > 0 for number in numbers)

    async def test_the_audit_is_asked_by_agent_session_and_turn(self, store: SessionStore) -> None:
        _, fence = await begin(store)
        rows = {
            "here": ROW,
            "turn": replace(ROW, turn_id="t2"),
            "session": replace(ROW, session=OTHER.key),
            "agent": replace(ROW, agent="someone"),
        }
        for subject, row in rows.items():
            await store.commit(fence, Writes(companions=(replace(row, subject=subject),)))

        async def found(**wanted: str) -> list[str]:
            return [one.row.subject for one in await store.list_audit(**wanted)]  # type: ignore[arg-type]

        assert await found() == ["agent", "session", "turn", "here"]
        assert await found(agent=REF.agent) == ["session", "turn", "here"]
        assert await found(session=REF.key) == ["agent", "turn", "here"]
        assert await found(session=REF.key, turn_id="t1") == ["agent", "here"]
        assert await found(agent=REF.agent, session=REF.key, turn_id="t2") == ["turn"]
        assert await found(session="nowhere") == []
        assert await found(session="a\0b") == []

    async def test_the_audit_of_a_closed_store_is_unavailable(self, store: SessionStore) -> None:
        await store.close()
        with pytest.raises(StoreUnavailableError):
            await store.list_audit()
