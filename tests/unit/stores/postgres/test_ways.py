"""Rows of the ways in and out, written in the statement of the fact that they belong to."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from gateway.engine.errors import DuplicateClaimError
from gateway.engine.ledger import Asked
from gateway.engine.records import (
    NEW_TURN,
    Ask,
    Companion,
    DeliveryMark,
    PlaceBound,
    Plan,
    SessionView,
    TurnRecord,
    Writes,
)
from gateway.engine.struct import replace
from gateway.stores.postgres import PostgresStore
from tests.conformance.store.ledger.incoming import bound, seen
from tests.conformance.store.ledger.kit import (
    LONG,
    SLACK,
    begun,
    held,
    judged,
    opened,
    receipt,
    take_one,
    view_of,
)
from tests.conformance.store_kit import (
    REF,
    Tool,
    accept,
    at,
    attempt,
    begin,
    claim,
    draft,
    with_handle,
)
from tests.unit.stores.postgres.conftest import background

pytestmark = pytest.mark.postgres

Admin = psycopg.Connection[Any]
OPEN = (
    "INSERT INTO gw.deliveries (turn, part, source, target, lane, state, next_try, at)"
    " VALUES (1, 'late', 'slack', '{}', 'x', 'due', 0, 0)"
)


def marked(turn: TurnRecord, now: int = 0) -> DeliveryMark:
    return DeliveryMark(turn=turn.row, at=at(now))


async def still_waits(work: asyncio.Task[None]) -> None:
    _, pending = await asyncio.wait({work}, timeout=0.3)
    assert pending == {work}


# -- no view of a turn misses what happened to it --------------------------------------------------
@pytest.mark.parametrize("table", ["sessions", "mailboxes", "turns"])
async def test_a_mark_raises_a_view_that_was_opened_while_it_waited(
    store: PostgresStore, admin: Admin, table: str
) -> None:
    turn, fence = await begin(store)
    done = Writes(turns=(replace(turn, state="completed"),), companions=(marked(turn),))
    with admin.transaction():
        admin.execute(f"SELECT FROM gw.{table} FOR UPDATE".encode())
        ending = background(store.commit(fence, done))
        await still_waits(ending)
        admin.execute(OPEN.encode())
    await ending
    assert (await view_of(store.ledger, "t1", "late")).wanted == 2


async def test_a_view_that_no_session_opens_waits_for_what_happens_to_its_turn(
    store: PostgresStore, admin: Admin
) -> None:
    turn = await accept(store)
    with admin.transaction():
        admin.execute("UPDATE gw.turns SET state = 'completed'")
        opening = background(store.ledger.note([opened(turn=turn.row)]))
        await still_waits(opening)
    await opening
    assert (await view_of(store.ledger)).wanted == 1


async def test_a_mark_alone_waits_for_a_view_that_is_being_opened(
    store: PostgresStore, admin: Admin
) -> None:
    turn = await accept(store)
    with admin.transaction():
        admin.execute("SELECT FROM gw.turns FOR SHARE")
        admin.execute(OPEN.encode())
        marking = background(store.ledger.note([marked(turn)]))
        await still_waits(marking)
    await marking
    assert (await view_of(store.ledger, "t1", "late")).wanted == 2


async def test_views_and_marks_race_and_none_rests_on_an_old_state(store: PostgresStore) -> None:
    """However opening and ending fall: the view is opened after the end, or the end is a mark of it."""
    for number in range(15):
        turn = await accept(store, turn_id=f"t{number}")
        fence = await attempt(store)
        done = Writes(turns=(replace(turn, state="completed"),), companions=(marked(turn),))
        row = opened(turn=turn.row, lane=f"lane-{number}")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(store.commit(fence, done))
            tasks.create_task(store.ledger.note([row]))
            tasks.create_task(store.ledger.note([row, marked(turn)]))
        view = await view_of(store.ledger, f"t{number}")
        assert view.wanted in {3, 4}
        assert view.state == "due"


async def test_marks_of_many_views_from_many_sides_are_all_counted(store: PostgresStore) -> None:
    turn = await begun(store, "t1", *[opened(f"p{n}", lane=f"lane-{n}") for n in range(10)])
    claimed = await store.ledger.claim("host-a", SLACK, at(0), LONG, 10)
    rights = [(row.id, row.token) for row in claimed]
    async with asyncio.TaskGroup() as tasks:
        for number in range(12):
            tasks.create_task(store.ledger.note([marked(turn, number)]))
            tasks.create_task(store.ledger.renew(rights[:: 1 if number % 2 else -1], LONG))
    assert {row.wanted for row in await store.ledger.deliveries()} == {13}


# -- one statement can't write a row twice ---------------------------------------------------------
async def test_a_view_may_be_opened_and_marked_by_one_write(store: PostgresStore) -> None:
    turn = await begun(store, "t1", opened("old"), opened("older", lane="b"))
    rows = (
        opened("card:r1", turn=turn.row, at=at(3)),
        opened("old", turn=turn.row, at=at(4)),
        opened("card:r1", turn=turn.row, lane="elsewhere", at=at(5)),
        marked(turn, 7),
        marked(turn, 9),
    )
    await store.amend(REF, Ask(), lambda _: Plan(None, Writes(companions=rows)))
    found = {row.part: row for row in await store.ledger.deliveries(turn_id="t1")}
    wanted = {part: row.wanted for part, row in found.items()}
    assert wanted == {"card:r1": 4, "old": 4, "older": 3}
    assert {row.next_try for row in found.values()} == {at(9)}
    assert (found["card:r1"].lane, found["card:r1"].at) == (found["old"].lane, at(3))


async def test_a_new_turn_may_open_and_mark_its_own_view(store: PostgresStore) -> None:
    await accept(store, companions=(opened(), DeliveryMark(turn=NEW_TURN, at=at(2))))
    view = await view_of(store.ledger)
    assert (view.wanted, view.next_try) == (2, at(2))


async def test_rows_of_one_key_count_as_if_each_had_come_alone(store: PostgresStore) -> None:
    def place(session: str, now: int) -> PlaceBound:
        return PlaceBound(place="p", agent="june", session=session, kind="thread", at=at(now))

    rows: list[Companion] = [
        judged("E1"),
        judged("E1", "duplicate", at=at(1)),
        judged("E2", "held", place="p"),
        judged("E2", "policy", revises=True, at=at(1)),
        *(place("first", 5), place("second", 9)),
        *(held("H1", body="first"), held("H1", body="second")),
        *(seen("a", 1), seen("a:B1", 1), seen("a", 2), seen("b", 2), seen("b", 900)),
        *(seen("a", reset=True), seen("a", 3), seen("a", 4)),
    ]
    await store.ledger.note(rows)
    found = {row.event_id: row for row in await store.ledger.verdicts()}
    assert (found["E1"].verdict, found["E1"].copies, found["E1"].at) == ("accepted", 2, at(0))
    assert (found["E2"].verdict, found["E2"].place, found["E2"].at) == ("policy", "p", at(0))
    known = await store.ledger.known(Asked(source="x", event_id="x", places=("p",), pairs=("a",)))
    assert [(row.session, row.at) for row in known.bindings] == [("first", at(9))]
    assert [(one.n, one.first_at) for one in known.pairs] == [(2, at(3))]
    for pair, n in (("a:B1", None), ("b", 1)):
        known = await store.ledger.known(Asked(source="x", event_id="x", pairs=(pair,)))
        assert [one.n for one in known.pairs] == ([] if n is None else [n])
    (event,) = await store.ledger.take_inbox("host-a", at(0), LONG, 5)
    assert event.body == "first"


async def test_many_rows_are_written_like_few(store: PostgresStore) -> None:
    rows: list[Companion] = []
    for number in range(40):
        rows += [opened(f"p{number}", lane=f"lane-{number}"), judged(f"E{number}", turn=NEW_TURN)]
        rows += [held(f"E{number}"), seen(f"pair-{number}"), claim(f"k{number}")]
    await accept(store, companions=tuple(rows))
    parts = [row.part for row in await store.ledger.deliveries()]
    assert parts == [f"p{number}" for number in reversed(range(40))]
    events = [row.event_id for row in await store.ledger.verdicts(turn_id="t1")]
    assert events == [f"E{number}" for number in reversed(range(40))]
    taken = await store.ledger.take_inbox("host-a", at(0), LONG, 100)
    assert [row.event_id for row in taken] == [f"E{number}" for number in range(40)]


# -- whose rows, under which lock ------------------------------------------------------------------
async def test_a_row_of_no_turn_stays_so_beside_a_new_turn(store: PostgresStore) -> None:
    rows = (judged("E1", "duplicate"), judged("E2", turn=NEW_TURN), claim("k1", None), claim("k2"))
    turn = await accept(store, companions=rows)
    found = {row.event_id: row.turn_id for row in await store.ledger.verdicts()}
    assert found == {"E1": None, "E2": "t1"}
    known = await store.ledger.known(Asked(source="slack", event_id="E1", keys=("k1", "k2")))
    assert [row.turn for row in known.claims] == [None, turn.row]


async def test_a_stale_write_tells_nothing(store: PostgresStore, admin: Admin) -> None:
    """A decision that lost its race is made again, and the rows of the first try aren't there."""
    turn = await begun(store)
    tries = 0

    def decide(_: SessionView) -> Plan[None]:
        nonlocal tries
        tries += 1
        if tries == 1:
            admin.execute("UPDATE gw.mailboxes SET version = version + 1")
        rows = (marked(turn, tries), judged(f"E{tries}"), seen("pair"))
        return Plan(None, Writes(companions=rows))

    await store.amend(REF, Ask(lock="mailbox"), decide)
    assert (tries, (await view_of(store.ledger)).wanted) == (2, 2)
    assert [row.event_id for row in await store.ledger.verdicts()] == ["E2"]
    known = await store.ledger.known(Asked(source="x", event_id="x", pairs=("pair",)))
    assert [one.n for one in known.pairs] == [1]


async def test_a_sync_tools_end_carries_its_rows(store: PostgresStore) -> None:
    turn, fence = await begin(store)
    await store.ledger.note([opened(turn=turn.row)])
    place = replace(bound(), turn=turn.row)
    rows = (claim("k1", turn.row), judged(turn=turn.row), place, seen(), held())
    settled = Writes(companions=(*rows, opened("card:r1", turn=turn.row), marked(turn, 4)))
    for number in range(2):
        tool = Tool(with_handle(lambda handle: handle.execute("SELECT 1")), settled)
        if number == 0:
            await store.run_local(fence, tool.call)
        else:
            with pytest.raises(DuplicateClaimError):
                await store.run_local(fence, tool.call)
    views = {row.part: row.wanted for row in await store.ledger.deliveries()}
    assert views == {"card:r1": 2, "reply": 2}
    assert [(row.turn_id, row.copies) for row in await store.ledger.verdicts()] == [("t1", 1)]


async def test_a_receipt_and_a_mark_meet_in_any_order(store: PostgresStore) -> None:
    turn = await begun(store)
    for number in range(20):
        view = await take_one(store.ledger, number)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(store.ledger.settle(receipt(view)))
            tasks.create_task(store.ledger.note([marked(turn, number + 1)]))
        found = await view_of(store.ledger)
        assert (found.state, found.wanted, found.shown) == ("due", view.wanted + 1, view.wanted)


async def test_a_draft_that_loses_its_number_opens_one_view(store: PostgresStore) -> None:
    """Two acceptances of one session at once: each turn has its own view, and no other."""

    async def one(name: str) -> None:
        def decide(view: SessionView) -> Plan[None]:
            return Plan(None, Writes(new_turn=draft(view, name), companions=(opened(lane=name),)))

        await store.amend(REF, Ask(lock="mailbox", create=True), decide)

    async with asyncio.TaskGroup() as tasks:
        for number in range(8):
            tasks.create_task(one(f"t{number}"))
    found = sorted((row.turn_id, row.wanted) for row in await store.ledger.deliveries())
    assert found == [(f"t{number}", 1) for number in range(8)]
