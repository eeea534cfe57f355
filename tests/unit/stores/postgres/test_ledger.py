"""The ledger on one database that several hosts share: who gets what, by whose clock."""

from __future__ import annotations

import asyncio
import re
import signal
from importlib.resources import files
from itertools import pairwise
from typing import Any, cast

import psycopg
import pytest
from psycopg import sql

from gateway.engine.errors import LeaseLostError, StoreUnavailableError
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Asked, Delivery, InboxRow
from gateway.engine.records import Companion, PlaceBound
from gateway.stores.postgres import PostgresStore
from gateway.stores.postgres.link import connect
from gateway.stores.postgres.reads import SQL
from tests.conformance.store.ledger.incoming import seen
from tests.conformance.store.ledger.kit import (
    LAPSED,
    LONG,
    SLACK,
    begun,
    held,
    judged,
    mark,
    opened,
    part,
    receipt,
    take,
    take_one,
    view_of,
)
from tests.conformance.store_kit import PATIENCE, T0, accept, at, claim
from tests.support.postgres import PostgresServer
from tests.unit.stores.postgres.conftest import OpenStore, background

pytestmark = pytest.mark.postgres

Admin = psycopg.Connection[Any]
YEARS = 10**12
"""Milliseconds; a caller's clock that is this far ahead."""
FEW = ("forget_pairs", "installations")
"""Statements that walk over a whole table, because there is never much in it."""


def lapse(admin: Admin, table: str, column: str = "lease") -> None:
    """As if the lease's time had passed by the server's clock."""
    statement = "UPDATE gw.{} SET {} = clock_timestamp() - interval '1 millisecond'"
    admin.execute(sql.SQL(statement).format(sql.Identifier(table), sql.Identifier(column)))


# -- two hosts at once -----------------------------------------------------------------------------
async def test_hosts_that_claim_at_once_never_get_the_same_view(
    store: PostgresStore, open_store: OpenStore
) -> None:
    hosts = [store, await open_store(), await open_store()]
    views = [opened(f"p{n}", lane=f"lane-{n // 2}") for n in range(120)]
    await begun(store, "t1", *views)
    sent: list[tuple[int, Delivery]] = []

    async def send(number: int, host: PostgresStore) -> None:
        idle = 0
        while idle < 20:
            found = await take(host.ledger, owner=f"host-{number}", limit=5)
            idle = 0 if found else idle + 1
            for row in found:
                sent.append((number, row))
                await host.ledger.settle(receipt(row, "done", ref=row.part))

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        for number, host in enumerate((*hosts, *hosts)):
            tasks.create_task(send(number, host))
    assert sorted(row.part for _, row in sent) == sorted(view.part for view in views)
    assert {row.token for _, row in sent} == {1}
    assert len({number for number, _ in sent}) > 1
    for lane in {view.lane for view in views}:
        ids = [row.id for _, row in sent if row.lane == lane]
        assert all(older < younger for older, younger in pairwise(ids))


async def test_hosts_that_take_events_at_once_never_get_the_same_one(
    store: PostgresStore, open_store: OpenStore
) -> None:
    hosts = [store, await open_store()]
    await store.ledger.note([held(f"E{n}") for n in range(100)])
    taken: list[InboxRow] = []

    async def work(host: PostgresStore) -> None:
        while found := await host.ledger.take_inbox("host", at(0), LONG, 7):
            taken.extend(found)

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        for host in (*hosts, *hosts):
            tasks.create_task(work(host))
    left = await store.ledger.take_inbox("host", at(0), LONG, 100)
    assert sorted(row.event_id for row in (*taken, *left)) == sorted(f"E{n}" for n in range(100))
    assert {row.token for row in taken} == {1}


async def test_what_somebody_takes_at_this_moment_is_passed_over(
    store: PostgresStore, admin: Admin
) -> None:
    await begun(store, "t1", opened("a", lane="a"), opened("b", lane="b"))
    await store.ledger.note([held("E1"), held("E2")])
    with admin.transaction():
        admin.execute("SELECT FROM gw.deliveries WHERE part = 'a' FOR NO KEY UPDATE")
        admin.execute("SELECT FROM gw.inbox WHERE event_id = 'E1' FOR NO KEY UPDATE")
        async with asyncio.timeout(5):
            assert [row.part for row in await take(store.ledger)] == ["b"]
            events = await store.ledger.take_inbox("host-a", at(0), LONG, 5)
        assert [row.event_id for row in events] == ["E2"]
    assert [row.part for row in await take(store.ledger)] == ["a"]


async def test_hosts_that_see_different_heads_of_a_lane_dont_both_send(
    store: PostgresStore, admin: Admin
) -> None:
    await begun(store, "t1", opened("old"), opened("young"))
    with admin.transaction():
        # As a host does that looked while the old one still rested.
        admin.execute("UPDATE gw.deliveries SET state = 'sending' WHERE part = 'young'")
        claiming = background(take(store.ledger))
        _, pending = await asyncio.wait({claiming}, timeout=0.3)
        assert pending == {claiming}
    assert await claiming == []
    assert (await view_of(store.ledger, "t1", "old")).state == "due"


async def test_a_woken_view_waits_for_the_sender_of_its_lane(store: PostgresStore) -> None:
    ledger = store.ledger
    turn = await begun(store, "t1", opened("old"))
    await ledger.settle(receipt(await take_one(ledger)))
    await begun(store, "t2", opened("young"))
    young = await take_one(ledger)
    await mark(store, turn)
    assert await ledger.next_due(SLACK) is None
    assert await take(ledger) == []
    await ledger.settle(receipt(young, "done"))
    assert (await take_one(ledger)).part == "old"


async def test_a_lane_whose_sender_is_gone_goes_on_with_what_it_sent(
    store: PostgresStore, admin: Admin
) -> None:
    ledger = store.ledger
    turn = await begun(store, "t1", opened("old"))
    await ledger.settle(receipt(await take_one(ledger)))
    await begun(store, "t2", opened("young"))
    await take_one(ledger)
    await mark(store, turn)
    lapse(admin, "deliveries")
    again = await take_one(ledger)
    assert (again.part, again.recovered) == ("young", True)
    await ledger.settle(receipt(again, "done"))
    assert (await take_one(ledger)).part == "old"


async def test_whoever_claims_knows_each_part_that_was_written_before(
    store: PostgresStore, open_store: OpenStore
) -> None:
    """A sender whose lease lapsed may write until somebody claims; not one part of it is lost."""
    other = await open_store()
    for number in range(20):
        await begun(store, f"t{number}")
        written: list[int] = []
        writing = background(_write_on(store, await take_one(store.ledger, lease=LAPSED), written))
        found: list[Delivery] = []
        async with asyncio.timeout(PATIENCE):
            while not written:
                await asyncio.sleep(0)
            while not found:
                found = await take(other.ledger, owner="host-b")
        with pytest.raises(LeaseLostError):
            await writing
        assert found[0].recovered
        assert [one.n for one in found[0].parts] == written
        await other.ledger.settle(receipt(found[0], "done"))


async def _write_on(store: PostgresStore, row: Delivery, written: list[int]) -> None:
    while True:
        n = len(written) + 1
        await store.ledger.journal(row.token, [part(row, n, ref=f"m{n}")])
        written.append(n)


# -- by whose clock --------------------------------------------------------------------------------
async def test_a_lease_lapses_by_the_servers_clock_and_no_other(
    store: PostgresStore, open_store: OpenStore, admin: Admin
) -> None:
    other = await open_store()
    await begun(store)
    await store.ledger.note([held()])
    mine = await take_one(store.ledger)
    (event,) = await store.ledger.take_inbox("host-a", at(0), LONG, 5)
    assert await store.ledger.hold("socket", "host-a", LONG)

    assert await take(other.ledger, YEARS, owner="host-b") == []
    assert await other.ledger.take_inbox("host-b", at(YEARS), LONG, 5) == []
    assert not await other.ledger.hold("socket", "host-b", LONG)

    lapse(admin, "deliveries")
    lapse(admin, "inbox")
    lapse(admin, "leases", "until")
    (theirs,) = await take(other.ledger, owner="host-b")
    assert (theirs.id, theirs.token, theirs.recovered) == (mine.id, mine.token + 1, True)
    (again,) = await other.ledger.take_inbox("host-b", at(0), LONG, 5)
    assert (again.id, again.token) == (event.id, event.token + 1)
    assert await other.ledger.hold("socket", "host-b", LONG)

    assert await store.ledger.renew([(mine.id, mine.token)], LONG) == set()
    with pytest.raises(LeaseLostError):
        await store.ledger.journal(mine.token, [part(mine)])
    with pytest.raises(LeaseLostError):
        await store.ledger.settle(receipt(mine))
    with pytest.raises(LeaseLostError):
        await store.ledger.settle_inbox(event, True, None)
    assert not await store.ledger.hold("socket", "host-a", LONG)
    await other.ledger.settle(receipt(theirs))


async def test_a_lease_lasts_as_long_as_was_said(
    store: PostgresStore, open_store: OpenStore
) -> None:
    other = await open_store()
    await begun(store)
    await take_one(store.ledger, lease=Millis(700))
    assert await take(other.ledger, owner="host-b") == []
    async with asyncio.timeout(PATIENCE):
        while not (found := await take(other.ledger, owner="host-b")):
            await asyncio.sleep(0.05)
    assert found[0].recovered


async def test_a_lease_outlives_the_server(
    store: PostgresStore, open_store: OpenStore, postgres: PostgresServer
) -> None:
    other = await open_store()
    await begun(store, "t1", opened("a", lane="a"), opened("b", lane="b"))
    (mine,) = await take(store.ledger, limit=1)
    await store.ledger.journal(mine.token, [part(mine, ref="m1")])
    postgres.stop(signal.SIGKILL)
    try:
        for work in (take(store.ledger), store.ledger.note([judged()]), store.ledger.verdicts()):
            with pytest.raises(StoreUnavailableError):
                await work
    finally:
        postgres.start()
    async with asyncio.timeout(PATIENCE):
        while not (found := await _as_soon_as_it_answers(other)):
            await asyncio.sleep(0.05)
    assert [row.part for row in found] == ["b"]
    settled = await store.ledger.settle(receipt(mine, "done"))
    assert [one.ref for one in settled.parts] == ["m1"]


async def _as_soon_as_it_answers(store: PostgresStore) -> list[Delivery]:
    try:
        return await take(store.ledger, owner="host-b")
    except StoreUnavailableError:
        return []


async def test_a_write_that_loses_a_deadlock_is_made_again(
    store: PostgresStore, admin: Admin
) -> None:
    def bound(place: str, now: int) -> PlaceBound:
        return PlaceBound(place=place, agent="june", session="s", kind="thread", at=at(now))

    await store.ledger.note([bound("a", 0), bound("b", 0)])
    with admin.transaction():
        admin.execute("UPDATE gw.places SET at = at WHERE place = 'b'")
        noting = background(store.ledger.note([bound("a", 7), bound("b", 7)]))
        _, pending = await asyncio.wait({noting}, timeout=0.3)
        assert pending == {noting}
        # The server ends one of the two; who came first has waited long enough to be that one.
        await asyncio.to_thread(admin.execute, "UPDATE gw.places SET at = at WHERE place = 'a'")
    await noting
    known = await store.ledger.known(Asked(source="s", event_id="E", places=("a", "b")))
    assert [row.at for row in known.bindings] == [at(7), at(7)]


# -- text and plans --------------------------------------------------------------------------------
async def test_text_that_the_server_cannot_hold_comes_back_whole(store: PostgresStore) -> None:
    odd = "a\0b\ufdd0c"
    rows: list[Companion] = [
        judged(odd, place=odd, said=odd),
        held(odd, body=odd),
        claim(odd, None),
        seen(odd),
    ]
    await store.ledger.note(rows)
    asked = Asked(source="slack", event_id=odd, keys=(odd,), pairs=(odd,))
    known = await store.ledger.known(asked)
    assert known.verdict is not None
    assert (known.verdict.event_id, known.verdict.place, known.verdict.said) == (odd, odd, odd)
    assert ([one.key for one in known.claims], [one.pair for one in known.pairs]) == ([odd], [odd])
    (event,) = await store.ledger.take_inbox(odd, at(0), LONG, 5)
    assert (event.event_id, event.body) == (odd, odd)
    await accept(store, companions=(opened(lane=odd, target={"x": odd}),))
    view = await take_one(store.ledger)
    assert (view.lane, view.target) == (odd, {"x": odd})
    await store.ledger.journal(view.token, [part(view, ref=odd, extra=odd)])
    await store.ledger.settle(receipt(view, "dead", error=odd, revive_on=odd))
    found = await store.ledger.shown_at("slack", odd)
    assert found is not None
    assert (found.error, found.parts[0].extra) == (odd, odd)
    assert await store.ledger.retry(revive_on=odd, now=T0) == 1


async def test_every_statement_of_the_ledger_finds_its_rows_by_an_index(postgres_url: str) -> None:
    """As the engine's connections plan them. What every poll asks uses the index made for it."""
    made_for = {
        "claim": ("deliveries_due", "deliveries_lane"),
        "next_due": ("deliveries_due", "deliveries_lane", "deliveries_remind"),
        "wake_reminded": ("deliveries_remind",),
        "take_inbox": ("inbox_due",),
        "shown_at": ("deliveries_ref", "parts_ref"),
        "dead_deliveries": ("deliveries_dead",),
        "forget_deliveries": ("deliveries_end",),
        "forget_inbox": ("inbox_end",),
        "forget_claims": ("claims_end",),
        "verdicts_at_place": ("verdicts_place",),
        "verdict_of_event": ("verdicts_source_event_id_key",),
    }
    text = files("gateway.stores.sql").joinpath("postgres", "ledger.sql").read_text("utf-8")
    named = re.findall(
        r"^-- name: (\w+)\n(?:SELECT .*FROM|WITH|INSERT|UPDATE|DELETE|\{d)", text, re.MULTILINE
    )
    names = {name for name in named if not name.endswith(("_columns", "_answer"))}
    assert set(made_for) <= names
    connection = await connect(postgres_url, 20.0)
    try:
        for name in sorted(names):
            await connection.execute(f"PREPARE probe AS {SQL[name]}")
            count = max((int(n) for n in re.findall(r"\$(\d+)", SQL[name])), default=0)
            given = f"({', '.join(['NULL'] * count)})" if count else ""
            plan = await connection.fetch(f"EXPLAIN EXECUTE probe{given}")
            shown = "\n".join(cast("str", row[0]) for row in plan)
            await connection.execute("DEALLOCATE probe")
            assert name in FEW or "Seq Scan" not in shown, f"{name}\n{shown}"
            for index in made_for.get(name, ()):
                assert index in shown, f"{name}\n{shown}"
    finally:
        await connection.close()
