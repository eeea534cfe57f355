"""A process that stops leaves its rows to the next one at once, and leaves them clean."""

from __future__ import annotations

import asyncio
from time import monotonic

from channels.contract import SETTLING
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Delivery
from gateway.engine.ports import SessionStore
from tests.unit.outbox.kit import Desk, desk, until, working
from tests.unit.outbox.platform import SOURCE, Platform


async def take_over(made: Desk) -> Delivery:
    """What the next process gets of the row."""
    (row,) = await made.ledger.claim("host-b", (SOURCE,), made.hand.now(), Millis(60_000), 5)
    return row  # type: ignore[no-any-return]


async def test_what_only_waits_is_put_back_at_once(store: SessionStore) -> None:
    async with desk(store) as made:
        await made.start("hold x", "t1")
        await until(lambda: bool(made.channel.seen))
        began = monotonic()
        await made.outbox.drain(100)
        assert monotonic() - began < 3
        assert (await made.row("t1")).state == "due"
        row = await take_over(made)
        assert (row.recovered, row.error, row.parts) == (False, None, ())


async def test_a_call_under_way_is_waited_for_and_noted(store: SessionStore) -> None:
    sending, go = asyncio.Event(), asyncio.Event()

    async def fault(when: str, _: str) -> None:
        if when == "after":
            sending.set()
            await go.wait()

    async with desk(store, platform=Platform(fault=fault)) as made:
        await made.start("hello", "t1")
        await sending.wait()
        async with asyncio.TaskGroup() as tasks:
            draining = tasks.create_task(made.outbox.drain(100))
            await asyncio.sleep(0.05)
            assert not draining.done()
            go.set()
        row = await made.row("t1")
        # It may have got as far as its receipt; either way it says what is there.
        assert [(part.state, part.ref) for part in row.parts] == [("open", "m1")]
        assert row.state in {"due", "done"}
        assert len(made.platform.calls) == 1


async def test_a_call_that_doesnt_end_is_left_and_its_effect_awaited(store: SessionStore) -> None:
    async def fault(when: str, _: str) -> None:
        if when == "before":
            await asyncio.Event().wait()

    async with desk(store, platform=Platform(fault=fault)) as made:
        await made.start("hello", "t1")
        await until(lambda: bool(made.platform.calls))
        await made.outbox.drain(2)
        row = await made.row("t1")
        assert row.state == "due"
        assert row.next_try > made.hand.now()
        assert row.next_try <= made.hand.now() + SETTLING
        assert [part.state for part in row.parts] == ["opening"]


async def test_who_drains_takes_nothing_more(memory: SessionStore) -> None:
    async with desk(memory) as made:
        await made.outbox.drain(1)
        await made.start("hello", "t1")
        await made.time.sleep(5)
        assert (await made.row("t1")).state == "due"
        assert made.channel.seen == []


async def test_an_outbox_that_is_cancelled_puts_its_rows_back_too(store: SessionStore) -> None:
    async with desk(store, runs=False) as made:
        async with working(made.outbox):
            await made.start("hold x", "t1")
            await until(lambda: bool(made.channel.seen))
        assert (await made.row("t1")).state == "due"
        assert not (await take_over(made)).recovered


async def test_the_next_process_goes_on(store: SessionStore) -> None:
    async with desk(store, runs=False) as made:
        async with working(made.outbox):
            await made.start("hold x", "t1")
            await until(lambda: bool(made.channel.seen))
            await made.outbox.drain(1)
        made.outbox._draining = False  # its next start
        async with working(made.outbox):
            made.gates.gate("x").set()
            await made.until("t1", "done")
        assert made.platform.at("s1") == ["after that"]
