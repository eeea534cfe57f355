"""What the ledger keeps, it keeps for a time: nothing of it for ever, nothing open forgotten."""

from __future__ import annotations

import asyncio

from gateway.engine.kinds import Millis
from gateway.engine.ledger import Asked
from gateway.engine.ports import SessionStore
from gateway.engine.records import Claim, PairSeen, PlaceBound, VerdictMade
from gateway.engine.records.companions import DAY
from gateway.outbox import sweep as sweeping
from gateway.testing.time import ScaledTime
from tests.unit.outbox.kit import Desk, desk, working


async def test_each_kind_has_its_age(store: SessionStore) -> None:
    ledger, t0 = store.ledger, Millis(1_700_000_000_000)
    claim = Claim(key="k1", turn=None, at=t0, expires_at=Millis(t0 + 14 * DAY))
    await ledger.note(
        [
            claim,
            VerdictMade(source="slack", event_id="E1", verdict="duplicate", rule="x", at=t0),
            PlaceBound(place="p1", agent="june", session="s1", kind="thread", at=t0),
            PairSeen(pair="b1", at=t0),
        ]
    )
    asked = Asked(source="slack", event_id="E1", keys=("k1",), places=("p1",), pairs=("b1",))
    left: list[tuple[int, int, bool, bool]] = []
    for days in (13, 15, 31, 91):
        await sweeping.sweep(ledger, Millis(t0 + days * DAY), ScaledTime(1000))
        known = await ledger.known(asked)
        left.append(
            (len(known.claims), len(known.bindings), known.pairs == (), known.verdict is None)
        )
    assert left == [
        (1, 1, False, False),
        (0, 1, True, False),
        (0, 1, True, True),
        (0, 0, True, True),
    ]


async def swept(made: Desk) -> None:
    """Let somebody keep sweeping for long enough."""
    sweeper = sweeping.Sweeping(made.ledger, "host-a", made.hand.clock, made.time)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(sweeper.run())
        await made.time.sleep(sweeping.FIRST + 10)
        running.cancel()


async def test_what_is_old_is_forgotten_but_nothing_that_is_open(memory: SessionStore) -> None:
    async with desk(memory, runs=False) as made:
        await made.start("hello", "t1")
        await made.start("approve", "t2", session="s2")
        async with working(made.outbox):
            await made.until("t1", "done")
            await made.until("t2", "resting")
        made.hand.pass_hours(24 * 91)
        await swept(made)
        assert await made.ledger.deliveries(turn_id="t1") == []
        assert (await made.row("t2")).state == "resting"


async def test_of_several_hosts_one_sweeps(memory: SessionStore) -> None:
    async with desk(memory, runs=False) as made:
        await made.start("hello", "t1")
        async with working(made.outbox):
            await made.until("t1", "done")
        made.hand.pass_hours(24 * 91)
        assert await memory.ledger.hold("retention", "host-b", Millis(60_000))
        await swept(made)
        assert len(await made.ledger.deliveries(turn_id="t1")) == 1
