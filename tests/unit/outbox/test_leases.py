"""Only who surely holds a row writes about it."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest

from gateway.engine.errors import LeaseLostError, StoreUnavailableError
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Delivery, Part
from gateway.engine.ports import SessionStore
from gateway.outbox.journal import MARGIN, RowJournal
from tests.conformance.store.ledger.kit import begun, mark, take_one
from tests.unit.outbox.kit import Desk, desk, until
from tests.unit.outbox.platform import SOURCE, Platform


class Stopped:
    """Time that stands still until it is set."""

    def __init__(self) -> None:
        self.at = 100.0

    def monotonic(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += seconds

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        return asyncio.timeout(seconds)


def journal_of(store: SessionStore, row: Delivery, time: Stopped) -> RowJournal:
    return RowJournal(row, store.ledger, time, time.at + 30, lambda: Millis(7))


def live(row: Delivery, **changes: object) -> Part:
    given: dict[str, object] = {"kind": "stream", "state": "live", "acked": 3, **changes}
    return Part(delivery=row.id, n=1, nonce="x", opened_at=Millis(1), **given)  # type: ignore[arg-type]


async def test_a_call_is_made_only_where_the_lease_outlasts_it(memory: SessionStore) -> None:
    await begun(memory)
    time = Stopped()
    journal = journal_of(memory, await take_one(memory.ledger), time)
    journal.outlasts(10)
    time.at += 30 - 10 - MARGIN - 0.1
    journal.outlasts(10)
    time.at += 0.1
    with pytest.raises(LeaseLostError):
        journal.outlasts(10)
    journal.until = time.at + 30  # renewed
    journal.outlasts(10)


async def test_nothing_is_written_once_the_lease_may_be_over(memory: SessionStore) -> None:
    await begun(memory)
    time = Stopped()
    row = await take_one(memory.ledger)
    journal = journal_of(memory, row, time)
    time.at += 30
    with pytest.raises(LeaseLostError):
        await journal.record(live(row))
    with pytest.raises(LeaseLostError):
        await journal.settle("done", satisfied=1, seq=1)
    found = await memory.ledger.delivery(row.id)
    assert found is not None
    assert (found.state, found.parts) == ("sending", ())


async def test_a_journal_says_what_was_written_and_what_is_wanted(store: SessionStore) -> None:
    turn = await begun(store)
    row = await take_one(store.ledger)
    journal = journal_of(store, row, Stopped())
    before = journal.parts
    await mark(store, turn)
    assert journal.wanted == 1
    await journal.record(live(row))
    assert (journal.wanted, len(before), len(journal.parts)) == (2, 0, 1)
    await journal.settle("resting", satisfied=1, seq=4, ref="m1")
    found = await store.ledger.delivery(row.id)
    assert found is not None
    assert (found.state, found.shown, found.seq, found.ref) == ("due", 1, 4, "m1")
    for write in (journal.record(live(row)), journal.settle("done", satisfied=2, seq=5)):
        with pytest.raises(LeaseLostError):
            await write
    with pytest.raises(LeaseLostError):
        journal.outlasts(1)


async def test_what_is_meant_is_noted_before_a_call_and_what_came_of_it_behind(
    memory: SessionStore,
) -> None:
    await begun(memory)
    row = await take_one(memory.ledger)
    journal = journal_of(memory, row, Stopped())
    journal.outlasts(10)
    await journal.record(live(row, kind="post", state="opening"))
    assert journal.calling
    await journal.record(live(row, kind="post", state="open", ref="m1"))
    assert not journal.calling


async def test_a_process_that_stops_begins_no_call_and_notes_the_last(memory: SessionStore) -> None:
    await begun(memory)
    row = await take_one(memory.ledger)
    journal = journal_of(memory, row, Stopped())
    journal.outlasts(10)
    journal.closing = True
    await journal.record(live(row))
    with pytest.raises(LeaseLostError):
        journal.outlasts(10)
    await journal.settle("done", satisfied=1, seq=1)


async def test_a_row_that_its_channel_gives_back_isnt_due_at_once(memory: SessionStore) -> None:
    await begun(memory)
    row = await take_one(memory.ledger)
    await journal_of(memory, row, Stopped()).settle("due", satisfied=0, seq=0)
    found = await memory.ledger.delivery(row.id)
    assert found is not None
    assert (found.state, found.next_try) == ("due", 7)


async def test_a_stream_that_was_cut_off_in_a_call_shows_who_knows_what(
    memory: SessionStore,
) -> None:
    await begun(memory)
    row = await take_one(memory.ledger)
    journal = journal_of(memory, row, Stopped())
    await journal.record(live(row))
    await journal.cut()
    assert journal.parts[0].state == "live"  # nothing was under way: it shows what its part says
    journal.outlasts(10)
    await journal.cut()
    assert (journal.parts[0].state, journal.parts[0].acked) == ("broken", 3)


async def test_a_row_whose_lease_ran_out_unnoticed_is_given_back_unless_somebody_took_it(
    memory: SessionStore,
) -> None:
    await begun(memory)
    row = await take_one(memory.ledger)
    journal = journal_of(memory, row, Stopped())
    journal.until = float("-inf")
    with pytest.raises(LeaseLostError):
        await journal.record(live(row))
    await journal.put_back("due", error=None, next_try=Millis(9))
    found = await memory.ledger.delivery(row.id)
    assert found is not None
    assert (found.state, found.next_try, found.parts) == ("due", 9, ())
    with pytest.raises(LeaseLostError):
        await journal_of(memory, row, Stopped()).put_back("due", error=None)


# -- with an outbox ------------------------------------------------------------------------------------
async def steal(made: Desk) -> Delivery:
    """Another host takes the row, as it may once its lease has lapsed."""
    row = await made.row("t1")
    assert await made.ledger.renew([(row.id, row.token)], Millis(0))
    taken = await made.ledger.claim("host-b", (SOURCE,), made.hand.now(), Millis(60_000), 5)
    (found,) = taken
    assert found.recovered
    return found  # type: ignore[no-any-return]


async def test_who_lost_the_lease_in_a_call_writes_nothing_more(store: SessionStore) -> None:
    sending, go = asyncio.Event(), asyncio.Event()

    async def fault(when: str, _: str) -> None:
        if when == "after":
            sending.set()
            await go.wait()

    async with desk(store, platform=Platform(fault=fault)) as made:
        await made.start("hello", "t1")
        await sending.wait()
        theirs = await steal(made)
        go.set()
        await until(lambda: not made.outbox._held)
        found = await made.row("t1")
        assert (found.state, found.token, found.error) == ("sending", theirs.token, None)
        assert [part.state for part in found.parts] == ["opening"]


async def test_who_hangs_is_told_that_the_lease_is_gone(memory: SessionStore) -> None:
    async def fault(when: str, _: str) -> None:
        if when == "before":
            await asyncio.Event().wait()

    async with desk(memory, platform=Platform(fault=fault)) as made:
        await made.start("hello", "t1")
        await until(lambda: bool(made.platform.calls))
        theirs = await steal(made)
        await until(lambda: not made.outbox._held)
        found = await made.row("t1")
        assert (found.state, found.token) == ("sending", theirs.token)


async def test_a_long_delivery_keeps_its_lease(memory: SessionStore) -> None:
    async with desk(memory) as made:
        await made.start("hold x", "t1")
        await until(lambda: "x" in made.gates.begun and bool(made.outbox._held))
        await made.time.sleep(65)
        made.gates.gate("x").set()
        row = await made.until("t1", "done")
        assert (row.token, made.platform.at("s1")) == (1, ["after that"])


async def test_a_store_that_is_away_for_a_moment_costs_a_moment(
    memory: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = True
    for name in ("claim", "next_due", "renew"):
        real = getattr(memory.ledger, name)

        def shut(*args: object, _real: object = real, **more: object) -> object:
            if away:
                raise StoreUnavailableError("gone fishing")
            return _real(*args, **more)  # type: ignore[operator]

        monkeypatch.setattr(memory.ledger, name, shut)
    async with desk(memory) as made:
        await made.start("hello", "t1")
        await made.time.sleep(3)
        assert made.platform.posts == []
        away = False
        await made.until("t1", "done")
