"""What came of ticks: that it is found, and read no more often than it changes."""

from __future__ import annotations

import asyncio

from typing_extensions import override

from gateway.engine.kinds import Millis, SessionRef
from gateway.engine.ports import SessionStore
from gateway.engine.records import TurnRecord
from gateway.engine.struct import replace
from gateway.schedules.fire import Firing, kept
from gateway.stores.memory import MemoryStore
from tests.unit.schedules.house import DIGEST, NINE, at, house

TUESDAY = at("2026-12-01T09:00")


async def test_what_came_of_a_tick_is_found_however_long_ago_it_was_due(
    store: SessionStore,
) -> None:
    """A host that died before it kept its state comes back to a tick that failed long before others."""
    async with house(store, {"bad": DIGEST}) as here:
        await here.look("bad")
        firing = Firing(agent="june", name="bad", schedule=DIGEST, due=NINE, by="cron:bad")
        await store.ledger.note([kept(firing, "failed", NINE, "it raised")])
        for n in range(1, 301):
            later = replace(firing, due=Millis(NINE + n))
            await store.ledger.note([kept(later, "skipped", NINE, "by hand")])
        here.leap_to(NINE)
        await here.look("bad")
        assert (await here.state("bad")).problem == "it raised"


async def test_restarts_run_nothing_again_and_nothing_early(store: SessionStore) -> None:
    async with house(store) as here:
        await here.look()
        here.leap_to(NINE)
        await here.look()
        before = await here.ticks()
        assert [row.outcome for row in before] == ["fired"]
    for hours in range(1, 4):
        async with house(store, now=Millis(NINE + hours * 3_600_000)) as again:
            assert await again.look() == TUESDAY
            assert await again.ticks() == before
            assert len(await again.turns()) == 1


class Counting(MemoryStore):
    """Counts how often a turn is read."""

    reads = 0

    @override
    async def turn(self, ref: SessionRef, turn_id: str) -> TurnRecord | None:
        self.reads += 1
        return await super().turn(ref, turn_id)


async def test_a_tick_that_is_over_is_read_once_however_often_its_page_is() -> None:
    store = Counting()
    await store.open()
    async with house(store) as here:
        await here.look()
        here.leap_to(NINE)
        await here.look()
        await here.shows("you said: good morning")
        async with asyncio.timeout(10):
            while True:
                (first,) = await here.book.history("digest")
                assert isinstance(first, dict)
                assert isinstance(first["delivery"], dict)
                if first["delivery"]["state"] == "done" and first["state"] == "completed":
                    break
                await asyncio.sleep(0.01)
        before = store.reads
        assert await here.book.history("digest") == [first]
        assert (await here.book.row("digest"))["last"] == first
        assert store.reads == before
    await store.close()
