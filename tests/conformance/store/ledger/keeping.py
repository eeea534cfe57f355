"""Ledger promises about documents, which the host saves by version, and the ticks of schedules, each
of which has one outcome."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.engine.errors import DuplicateClaimError, StaleAttemptError, StoreUnavailableError
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Document, Ledger, OccurrenceRow
from gateway.engine.ports import SessionStore
from gateway.engine.records import NEW_TURN, OccurrenceKept, Writes
from gateway.engine.struct import replace
from tests.conformance.store.ledger.kit import WithLedger, before, begun, judged
from tests.conformance.store_kit import PATIENCE, REF, T0, Reopen, accept, at, attempt

SOON = Millis(4_102_444_800_000)
"""Far ahead of any clock that runs these tests."""
PAST = at(0)
ADA = Document(kind="user", key="ada", body={"role": "admin", "é\0": [1, None, "🙂"]}, expires=SOON)


def tick(due: int = 0, **changes: Any) -> OccurrenceKept:
    row = OccurrenceKept(
        agent="june", schedule="digest", due=at(due), outcome="fired", turn=None, by="cron:digest",
        why="é\0", at=at(due + 1),
    )  # fmt: skip
    return replace(row, **changes)


def told(row: OccurrenceKept, **changes: Any) -> OccurrenceRow:
    made = OccurrenceRow(
        agent=row.agent, schedule=row.schedule, due=row.due, outcome=row.outcome, turn=row.turn,
        turn_id=None, session=None, by=row.by, why=row.why, at=row.at,
    )  # fmt: skip
    return replace(made, **changes)


class DocumentPromises(WithLedger):
    async def test_a_document_comes_back_as_it_was_put(self, ledger: Ledger) -> None:
        assert await ledger.document("user", "ada") is None
        assert await ledger.put_document(ADA, None) is True
        assert await ledger.document("user", "ada") == replace(ADA, version=1)
        bare = Document(kind="link", key="ada", body={})
        assert await ledger.put_document(bare, None) is True
        assert await ledger.document("link", "ada") == replace(bare, version=1)
        assert await ledger.document("link", "Ada") is None

    async def test_a_document_is_put_over_the_one_that_was_read(self, ledger: Ledger) -> None:
        await ledger.put_document(ADA, None)
        other = replace(ADA, body={"role": "viewer"}, expires=None, version=77)
        assert await ledger.put_document(other, None) is False
        assert await ledger.put_document(other, 2) is False
        assert await ledger.put_document(replace(other, key="june"), 1) is False
        assert await ledger.document("user", "ada") == replace(ADA, version=1)
        assert await ledger.put_document(other, 1) is True
        assert await ledger.document("user", "ada") == replace(other, version=2)
        assert await ledger.put_document(ADA, 1) is False
        assert await ledger.document("user", "june") is None

    async def test_a_kept_document_is_nobodys_to_change(self, ledger: Ledger) -> None:
        body: dict[str, Any] = {"a": [1]}
        await ledger.put_document(Document(kind="k", key="k", body=body), None)
        body["a"].append(2)
        found = await ledger.document("k", "k")
        assert found is not None
        assert found.body == {"a": [1]}

    async def test_documents_of_a_kind_are_listed_by_key(self, ledger: Ledger) -> None:
        for key in ("b", "é", "B", "a"):
            await ledger.put_document(replace(ADA, key=key), None)
        await ledger.put_document(replace(ADA, kind="other", key="0"), None)
        await ledger.put_document(replace(ADA, key="0", expires=PAST), None)
        assert [row.key for row in await ledger.documents("user")] == ["B", "a", "b", "é"]
        assert [row.key for row in await ledger.documents("user", 2)] == ["B", "a"]
        assert list(await ledger.documents("nothing")) == []

    async def test_an_expired_document_is_as_good_as_none(self, ledger: Ledger) -> None:
        await ledger.put_document(ADA, None)
        assert await ledger.put_document(replace(ADA, expires=PAST), 1) is True
        assert await ledger.document("user", "ada") is None
        assert await ledger.put_document(ADA, 2) is False
        assert await ledger.drop_document("user", "ada") is False
        assert await ledger.put_document(ADA, None) is True
        assert await ledger.document("user", "ada") == replace(ADA, version=1)

    async def test_a_document_is_dropped_once(self, ledger: Ledger) -> None:
        await ledger.put_document(ADA, None)
        assert await ledger.drop_document("user", "ada", 2) is False
        assert await ledger.document("user", "ada") is not None
        assert await ledger.drop_document("user", "ada", 1) is True
        assert await ledger.drop_document("user", "ada") is False
        await ledger.put_document(ADA, None)
        assert await ledger.drop_document("user", "ada") is True
        assert await ledger.document("user", "ada") is None

    async def test_of_those_who_put_or_drop_at_once_one_wins(self, ledger: Ledger) -> None:
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            racers = [
                tasks.create_task(ledger.put_document(replace(ADA, body={"n": n}), None))
                for n in range(8)
            ]
        won = [n for n, racer in enumerate(racers) if racer.result()]
        found = await ledger.document("user", "ada")
        assert found is not None
        assert [found.body["n"]] == won
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            racers = [tasks.create_task(ledger.drop_document("user", "ada", 1)) for _ in range(8)]
        assert sum(racer.result() for racer in racers) == 1

    async def test_expired_documents_are_forgotten(self, ledger: Ledger) -> None:
        await ledger.put_document(replace(ADA, expires=at(10)), None)
        await ledger.put_document(replace(ADA, key="june", expires=None), None)
        await ledger.put_document(replace(ADA, key="lead"), None)
        assert await ledger.forget(before(9)) == 0
        assert await ledger.forget(before(10)) == 1
        assert [row.key for row in await ledger.documents("user")] == ["june", "lead"]

    async def test_documents_of_a_closed_store_are_unavailable(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        await store.close()
        with pytest.raises(StoreUnavailableError):
            await ledger.document("user", "ada")
        with pytest.raises(StoreUnavailableError):
            await ledger.put_document(ADA, None)
        with pytest.raises(StoreUnavailableError):
            await ledger.occurrences("june")

    async def test_documents_and_ticks_survive_a_restart(
        self, ledger: Ledger, reopen: Reopen
    ) -> None:
        await ledger.put_document(ADA, None)
        await ledger.note([tick()])
        again = (await reopen()).ledger
        assert await again.document("user", "ada") == replace(ADA, version=1)
        with pytest.raises(DuplicateClaimError):
            await again.note([tick()])
        assert list(await again.occurrences("june")) == [told(tick())]


class OccurrencePromises(WithLedger):
    async def test_a_tick_commits_with_the_turn_it_begins(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        row = tick(turn=NEW_TURN)
        turn = await accept(store, companions=(row,))
        (found,) = await ledger.occurrences("june")
        assert found == told(row, turn=turn.row, turn_id="t1", session=REF.key)

    async def test_a_tick_has_one_outcome(self, store: SessionStore, ledger: Ledger) -> None:
        await accept(store, companions=(tick(turn=NEW_TURN),))
        before_it = list(await ledger.occurrences("june"))
        with pytest.raises(DuplicateClaimError, match="tick:june:digest:"):
            await accept(store, turn_id="t2", companions=(tick(turn=NEW_TURN),))
        assert await store.turn(REF, "t2") is None
        later = tick(5, outcome="skipped")
        with pytest.raises(DuplicateClaimError, match=f"tick:june:digest:{at(0)}"):
            await ledger.note([judged(), later, tick(outcome="failed"), tick(9)])
        with pytest.raises(DuplicateClaimError, match=f"tick:june:digest:{at(5)}"):
            await ledger.note([later, later])
        assert list(await ledger.verdicts()) == []
        assert list(await ledger.occurrences("june")) == before_it

    async def test_of_hosts_that_fire_one_tick_one_does(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        async def fire(number: int) -> bool:
            try:
                await accept(store, turn_id=f"t{number}", companions=(tick(turn=NEW_TURN),))
            except DuplicateClaimError:
                return False
            return True

        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            racers = [tasks.create_task(fire(number)) for number in range(8)]
        (won,) = [number for number, racer in enumerate(racers) if racer.result()]
        assert [turn.turn.turn_id for turn in await store.list_turns()] == [f"t{won}"]
        assert [row.turn_id for row in await ledger.occurrences("june")] == [f"t{won}"]

    async def test_a_tick_falls_with_the_write_it_belongs_to(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        turn = await begun(store)
        old = await attempt(store)
        await attempt(store)
        with pytest.raises(StaleAttemptError):
            await store.commit(old, Writes(companions=(tick(turn=turn.row),)))
        assert list(await ledger.occurrences("june")) == []

    async def test_ticks_are_listed_the_latest_due_first(self, ledger: Ledger) -> None:
        rows = [tick(due, schedule=name) for due in (3, 1, 2) for name in ("b", "a")]
        await ledger.note([*rows, tick(agent="other")])
        found = [(row.schedule, row.due - T0) for row in await ledger.occurrences("june")]
        assert found == [("a", 3), ("b", 3), ("a", 2), ("b", 2), ("a", 1), ("b", 1)]
        assert list(await ledger.occurrences("june", "b", 2)) == [told(rows[0]), told(rows[4])]
        assert list(await ledger.occurrences("june", limit=1)) == [told(rows[1])]
        assert list(await ledger.occurrences("nobody")) == []

    async def test_a_great_many_ticks_are_kept_at_once(self, ledger: Ledger) -> None:
        await ledger.note([tick(due, outcome="skipped", why="paused") for due in range(40)])
        assert len(await ledger.occurrences("june", "digest", 100)) == 40

    async def test_old_ticks_are_forgotten(self, ledger: Ledger) -> None:
        await ledger.note([tick(0), tick(1, outcome="skipped")])
        assert await ledger.forget(before(2)) == 1
        assert [row.due for row in await ledger.occurrences("june")] == [at(1)]
