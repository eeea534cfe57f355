"""Ledger promises about events that were acknowledged and are still to be acted on."""

from __future__ import annotations

import asyncio

import pytest

from gateway.engine.errors import DuplicateClaimError, LeaseLostError
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Asked, InboxRow, Ledger
from gateway.engine.records import Companion
from gateway.engine.struct import replace
from tests.conformance.store.ledger.kit import LAPSED, LONG, WithLedger, held, judged
from tests.conformance.store_kit import PATIENCE, at, claim


async def taken(
    ledger: Ledger, now: int = 0, *, lease: Millis = LONG, limit: int = 10
) -> list[InboxRow]:
    return list(await ledger.take_inbox("host-a", at(now), lease, limit))


async def only(ledger: Ledger, now: int = 0, *, lease: Millis = LONG) -> InboxRow:
    (row,) = await taken(ledger, now, lease=lease)
    return row


class InboxPromises(WithLedger):
    async def test_an_event_is_taken_as_it_was_held(self, ledger: Ledger) -> None:
        await ledger.note([held("E1", kind="answer", body='{"é":"🙂"}', at=at(3))])
        row = await only(ledger, 3)
        assert (row.source, row.event_id, row.kind) == ("slack", "E1", "answer")
        assert (row.body, row.at, row.attempts, row.token) == ('{"é":"🙂"}', at(3), 1, 1)
        assert await taken(ledger, 1000) == []

    async def test_events_are_taken_the_oldest_first(self, ledger: Ledger) -> None:
        await ledger.note([held("E1", at=at(2)), held("E2", at=at(1)), held("E3", at=at(1))])
        await ledger.note([held("E4", next_try=at(9))])
        assert [row.event_id for row in await taken(ledger, 5, limit=2)] == ["E2", "E3"]
        assert [row.event_id for row in await taken(ledger, 5)] == ["E1"]
        assert await taken(ledger, 8) == []
        assert [row.event_id for row in await taken(ledger, 9)] == ["E4"]

    async def test_an_event_is_held_once(self, ledger: Ledger) -> None:
        await ledger.note([held("E1", body="first")])
        await ledger.note([held("E1", body="second"), held("E1", source="crisp")])
        rows = await taken(ledger)
        assert [(row.source, row.body) for row in rows] == [
            ("slack", "first"),
            ("crisp", '{"v":1}'),
        ]
        await ledger.settle_inbox(rows[0], True, None)
        await ledger.note([held("E1", body="third")])
        assert await taken(ledger, 1000) == []

    async def test_many_who_take_at_once_get_each_event_once(self, ledger: Ledger) -> None:
        await ledger.note([held(f"E{number}") for number in range(10)])
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            racers = [tasks.create_task(taken(ledger, limit=3)) for _ in range(6)]
        found = [row.event_id for racer in racers for row in racer.result()]
        assert sorted(found) == [f"E{number}" for number in range(10)]

    async def test_a_lapsed_lease_is_anybodys(self, ledger: Ledger) -> None:
        await ledger.note([held()])
        old = await only(ledger, lease=LAPSED)
        new = await only(ledger)
        assert (new.id, new.token, new.attempts) == (old.id, 2, 2)
        with pytest.raises(LeaseLostError):
            await ledger.settle_inbox(old, True, None, [judged(), claim("k1", None)])
        known = await ledger.known(Asked(source="slack", event_id="E1", keys=("k1",)))
        assert (known.verdict, known.claims) == (None, ())
        await ledger.settle_inbox(new, True, None)

    async def test_what_came_of_it_is_kept_with_its_settling(self, ledger: Ledger) -> None:
        await ledger.note([held(), judged("E1", "held")])
        row = await only(ledger)
        rows: list[Companion] = [judged("E1", "policy", revises=True), claim("k1", None)]
        await ledger.settle_inbox(row, True, None, rows)
        known = await ledger.known(Asked(source="slack", event_id="E1", keys=("k1",)))
        assert known.verdict is not None
        assert (known.verdict.verdict, len(known.claims)) == ("policy", 1)
        assert await taken(ledger, 1000) == []

    async def test_a_taken_claim_settles_nothing(self, ledger: Ledger) -> None:
        await ledger.note([held(), claim("k1", None)])
        row = await only(ledger)
        with pytest.raises(DuplicateClaimError):
            await ledger.settle_inbox(row, True, None, [judged(), claim("k1", None)])
        assert list(await ledger.verdicts()) == []
        await ledger.settle_inbox(row, False, at(4))
        assert (await only(ledger, 4)).body == '{"v":1}'

    async def test_an_event_is_tried_again_when_it_was_said_to_be(self, ledger: Ledger) -> None:
        await ledger.note([held()])
        row = await only(ledger)
        await ledger.settle_inbox(row, False, at(50), error="the hook raised")
        assert await taken(ledger, 49) == []
        again = await only(ledger, 50)
        assert (again.attempts, again.token, again.body) == (2, 2, row.body)
        with pytest.raises(LeaseLostError):
            await ledger.settle_inbox(row, True, None)

    async def test_an_event_that_is_given_up_is_not_taken_again(self, ledger: Ledger) -> None:
        await ledger.note([held()])
        row = await only(ledger)
        await ledger.settle_inbox(row, False, None, error="no such request")
        assert await taken(ledger, 10_000) == []
        with pytest.raises(LeaseLostError):
            await ledger.settle_inbox(row, True, None)

    async def test_an_event_that_never_was_settles_nothing(self, ledger: Ledger) -> None:
        await ledger.note([held()])
        row = replace(await only(ledger), id=999, event_id="E9")
        with pytest.raises(LeaseLostError):
            await ledger.settle_inbox(row, True, None, [judged("E9")])
        assert list(await ledger.verdicts()) == []
