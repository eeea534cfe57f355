"""Decisions are made without a lock, and written only if what they were shown still holds."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from gateway.engine.kinds import SessionRef
from gateway.engine.records import Ask, Plan, SessionPatch, SessionView, Writes
from gateway.stores.postgres import PostgresStore
from tests.conformance.store_kit import (
    REF,
    accept,
    attempt,
    begin,
    claim,
    draft,
    look,
    message,
    model_step,
    request,
    save,
    vote,
)
from tests.unit.stores.postgres.conftest import OpenStore, background

pytestmark = pytest.mark.postgres

Admin = psycopg.Connection[Any]

MEANWHILE = {
    "a message": "INSERT INTO gw.messages VALUES (1, 0, 5, 1, 'assistant', '{}')",
    "an event": "INSERT INTO gw.events VALUES (1, 9, 0, 'x')",
    "a step begun": "INSERT INTO gw.steps VALUES (1, 'tool:9:c', false, 1, NULL, NULL, 0)",
    "a step done": "UPDATE gw.steps SET done = true",
    "a turn": "UPDATE gw.mailboxes SET version = version + 1",
}


@pytest.mark.parametrize("what", MEANWHILE)
async def test_what_an_attempt_wrote_meanwhile_is_shown_before_anything_is_written(
    store: PostgresStore, admin: Admin, what: str
) -> None:
    turn, fence = await begin(store)
    await store.commit(fence, model_step(turn, 0, 1))
    admin.execute("INSERT INTO gw.steps VALUES (1, 'tool:0:c', false, 1, NULL, NULL, 0)")
    views: list[SessionView] = []

    def decide(view: SessionView) -> Plan[int]:
        views.append(view)
        if len(views) == 1:
            admin.execute(MEANWHILE[what].encode())
        assert view.session is not None
        return Plan(len(views), Writes(session=SessionPatch(epoch=view.session.epoch + 1)))

    assert await store.amend(REF, Ask(head=True, tail=True), decide) == 2
    assert what == "a turn" or views[0] != views[1]
    assert (await look(store)).session != views[1].session


async def test_an_acceptance_does_not_mind_an_attempts_checkpoints(
    store: PostgresStore, admin: Admin
) -> None:
    await begin(store)
    asked = 0

    def decide(view: SessionView) -> Plan[None]:
        nonlocal asked
        asked += 1
        admin.execute(MEANWHILE["an event"].encode())
        return Plan(None, Writes(new_turn=draft(view, "t2")))

    await store.amend(REF, Ask(lock="mailbox"), decide)
    assert asked == 1


@pytest.mark.parametrize("ask", [Ask(), Ask(lock="mailbox")])
async def test_a_race_lost_again_and_again_is_decided_under_the_lock(
    store: PostgresStore, admin: Admin, ask: Ask
) -> None:
    await accept(store)
    asked = 0

    def decide(view: SessionView) -> Plan[None]:
        nonlocal asked
        asked += 1
        if asked <= 3:
            admin.execute(MEANWHILE["a turn"].encode())
        return Plan(None, Writes(new_turn=draft(view, "t2"), companions=(claim("once"),)))

    await store.amend(REF, ask, decide)
    assert asked == 4
    assert [head.turn_id for head in (await look(store)).open] == ["t1", "t2"]


async def test_under_the_lock_a_decision_that_raises_applies_nothing(
    store: PostgresStore, admin: Admin
) -> None:
    await accept(store)
    asked = 0

    def decide(_: SessionView) -> Plan[None]:
        nonlocal asked
        asked += 1
        if asked > 3:
            raise TimeoutError("mine")
        admin.execute(MEANWHILE["a turn"].encode())
        return Plan(None, Writes(session=SessionPatch(owner="x")))

    with pytest.raises(TimeoutError, match="mine"):
        await store.amend(REF, Ask(), decide)
    await attempt(store)


async def test_a_session_made_meanwhile_by_another_host_is_used(
    store: PostgresStore, open_store: OpenStore
) -> None:
    other = await open_store()
    made: list[asyncio.Task[object]] = []
    both = asyncio.Barrier(2)

    async def one(host: PostgresStore, name: str) -> int:
        def decide(view: SessionView) -> Plan[int]:
            new = draft(view, name)
            return Plan(new.number, Writes(new_turn=new))

        await both.wait()
        return await host.amend(REF, Ask(lock="mailbox", create=True), decide)

    for k in range(10):
        ref = SessionRef("june", f"s{k}")
        made = [
            background(look(host, Ask(create=True, lock="mailbox"), ref)) for host in (store, other)
        ]
        await asyncio.wait(made)
    numbers = [background(one(store, "a")), background(one(other, "b"))]
    await asyncio.wait(numbers)
    assert sorted(task.result() for task in numbers) == [1, 2]
    assert len(await store.list_sessions()) == 11


async def test_a_new_session_can_be_claimed_at_once(store: PostgresStore) -> None:
    """One statement can't change the row that it inserts, so this takes the other way."""

    def decide(view: SessionView) -> Plan[int]:
        assert view.session is not None
        patch = SessionPatch(epoch=1, owner="host-a")
        return Plan(int(view.session.id), Writes(session=patch, new_turn=draft(view)))

    await store.amend(REF, Ask(create=True), decide)
    row = await store.session(REF)
    assert row is not None
    assert (row.epoch, row.owner, row.next_number) == (1, "host-a", 2)


async def test_a_decision_under_the_session_lock_waits_although_it_writes_nothing(
    store: PostgresStore, admin: Admin
) -> None:
    """A commit whose answer was lost may still be under way; who looks must see how it ended."""
    await begin(store)
    with admin.transaction():
        admin.execute("SELECT 1 FROM gw.sessions FOR NO KEY UPDATE")
        admin.execute(MEANWHILE["a message"].encode())
        looking = background(look(store, Ask(turn_id="t1")))
        _, pending = await asyncio.wait({looking}, timeout=0.3)
        assert pending
    view = await looking
    assert view.session is not None
    assert view.session.next_index == 6


async def test_votes_and_answers_count(store: PostgresStore, admin: Admin) -> None:
    turn, fence = await begin(store)
    await store.commit(fence, Writes(requests=(request(turn),)))
    await save(store, fence, turn, "suspended", "r1")
    versions: list[object] = []
    for writes in (Writes(votes=(vote(),)), Writes(requests=(request(turn, "r2"),))):
        versions.append(admin.execute("SELECT version FROM gw.mailboxes").fetchone())
        await store.commit(fence, writes)
    versions.append(admin.execute("SELECT version FROM gw.mailboxes").fetchone())
    assert len(set(versions)) == 3
    await store.commit(fence, Writes(messages=(message(turn, 0),)))
    assert admin.execute("SELECT version FROM gw.mailboxes").fetchone() == versions[-1]
