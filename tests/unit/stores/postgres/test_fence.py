"""The fence and the locks, raced on a real server from several stores."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from gateway.engine.errors import StaleAttemptError
from gateway.engine.kinds import SessionRef
from gateway.engine.records import (
    Ask,
    CancelMark,
    Fence,
    Plan,
    SessionPatch,
    SessionView,
    Writes,
)
from gateway.stores.postgres import PostgresStore
from tests.conformance.store_kit import (
    PATIENCE,
    REF,
    T0,
    Tool,
    accept,
    attempt,
    begin,
    claim,
    draft,
    event,
    look,
    message,
    model_step,
    step,
    with_handle,
)
from tests.unit.stores.postgres.conftest import OpenStore, background

pytestmark = pytest.mark.postgres

Admin = psycopg.Connection[Any]


def sleeper(seconds: float) -> Tool:
    return Tool(with_handle(lambda handle: handle.execute("SELECT pg_sleep(?)", [seconds])))


async def test_a_checkpoint_waits_for_a_takeover_and_then_writes_nothing(
    store: PostgresStore, admin: Admin
) -> None:
    turn, fence = await begin(store)
    with admin.transaction():
        admin.execute("UPDATE gw.sessions SET epoch = epoch + 1")
        late = background(store.commit(fence, model_step(turn, 0, 1)))
        _, pending = await asyncio.wait({late}, timeout=0.3)
        assert pending == {late}
    with pytest.raises(StaleAttemptError):
        await late
    assert await store.messages(REF, 0) == []
    assert await store.steps(turn.row) == []


async def test_a_takeover_waits_for_a_checkpoint_under_way(
    store: PostgresStore, open_store: OpenStore
) -> None:
    turn, fence = await begin(store)
    other = await open_store()
    tool = sleeper(0.5)
    call = replace(tool.call, settle=lambda *_: Writes(messages=(message(turn, 0),)))
    running = background(store.run_local(fence, call))
    await asyncio.sleep(0.2)
    assert tool.runs == 1
    taken = await attempt(other, owner="host-b")
    assert len(await other.messages(REF, 0)) == 1, "a takeover reads what it waited for"
    await running
    assert taken.epoch == fence.epoch + 1
    with pytest.raises(StaleAttemptError):
        await store.run_local(fence, tool.call)


async def test_a_zombie_is_refused_whatever_it_does(
    store: PostgresStore, open_store: OpenStore
) -> None:
    turn, fence = await begin(store)
    await attempt(await open_store(), owner="host-b")
    tool = sleeper(0)
    for zombie in (
        store.commit(fence, model_step(turn, 0, 1)),
        store.commit(fence, Writes()),
        store.run_local(fence, tool.call),
    ):
        with pytest.raises(StaleAttemptError):
            await zombie
    assert tool.runs == 0


async def test_without_the_fence_the_zombie_would_write(store: PostgresStore) -> None:
    """The control: the same race with the right epoch guessed shows that the check is what stops."""
    turn, fence = await begin(store)
    await attempt(store)
    await store.commit(Fence(fence.session, fence.epoch + 1), model_step(turn, 0, 1))
    assert len(await store.messages(REF, 0)) == 1


async def test_an_acceptance_never_waits_for_a_tool(
    store: PostgresStore, open_store: OpenStore
) -> None:
    _, fence = await begin(store)
    other = await open_store()
    await accept(other, turn_id="warm")
    running = background(store.run_local(fence, sleeper(0.8).call))
    await asyncio.sleep(0.2)
    began = time.monotonic()
    turn = await accept(other, turn_id="t2", companions=(claim("evt-2"),))
    assert turn.number == 3
    view = await look(other, Ask(lock="mailbox"))
    assert [head.turn_id for head in view.open] == ["t1", "warm", "t2"]
    mark = CancelMark(turn=turn.row, reason="replaced", at=T0)
    await other.amend(
        REF,
        Ask(lock="mailbox"),
        lambda view: Plan(None, Writes(new_turn=draft(view, "t3"), cancels=(mark,))),
    )
    assert time.monotonic() - began < 0.4
    assert not running.done()
    await running


async def test_a_decision_under_the_session_lock_waits_for_the_tool(
    store: PostgresStore, open_store: OpenStore
) -> None:
    turn, fence = await begin(store)
    other = await open_store()
    tool = sleeper(0.5)
    call = replace(tool.call, settle=lambda *_: Writes(events=(event(turn, 1),)))
    running = background(store.run_local(fence, call))
    await asyncio.sleep(0.2)
    view = await look(other)
    assert running.done()
    assert view.open[0].last_seq == 1
    await running


async def test_a_mailbox_plan_that_writes_the_session_is_decided_again_under_its_lock(
    store: PostgresStore,
) -> None:
    turn, fence = await begin(store)
    seen: list[int] = []

    def decide(view: SessionView) -> Plan[None]:
        seen.append(view.open[0].last_seq)
        closed = replace(turn, state="cancelled")
        last = event(turn, view.open[0].last_seq + 1, "turn.cancelled")
        return Plan(None, Writes(turns=(closed,), events=(last,)))

    tool = sleeper(0.4)
    call = replace(tool.call, settle=lambda *_: Writes(events=(event(turn, 1),)))
    running = background(store.run_local(fence, call))
    await asyncio.sleep(0.15)
    await store.amend(REF, Ask(lock="mailbox"), decide)
    assert seen[0] == 0
    assert seen[-1] == 1, "the last look saw what the tool's call committed meanwhile"
    assert [e.event.seq for e in await store.events(REF, turn.row)] == [1, 2]
    await running


async def test_a_park_and_an_acceptance_are_told_apart(
    store: PostgresStore, open_store: OpenStore
) -> None:
    """Whoever comes second sees the first: a turn is never accepted beside a park it didn't see."""
    other = await open_store()
    for k in range(20):
        ref = SessionRef("june", f"s{k}")
        turn, fence = await begin(store, ref)
        parked = replace(turn, state="suspended", request="r")

        def decide(view: SessionView) -> Plan[str]:
            states = [head.state for head in view.open]
            if "suspended" in states:
                return Plan("refused")
            return Plan("accepted", Writes(new_turn=draft(view, "t2")))

        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            tasks.create_task(store.commit(fence, Writes(turns=(parked,))))
            said = tasks.create_task(
                other.amend(ref, Ask(lock="mailbox" if k % 2 else "session"), decide)
            )
        view = await look(store, ref=ref)
        assert len(view.open) == (2 if said.result() == "accepted" else 1)


async def test_every_order_of_locks_gets_through(  # noqa: C901 - the cast of one play
    store: PostgresStore, open_store: OpenStore, admin: Admin
) -> None:
    """Two hosts do everything at once to two sessions: no deadlock, nothing lost, no gap."""
    other = await open_store()
    refs = [SessionRef("june", f"s{k}") for k in range(2)]
    begun = {ref: await begin(store, ref, "first") for ref in refs}
    before: Any = admin.execute(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    ).fetchone()

    def decision(ref: SessionRef, name: str) -> Callable[[SessionView], Plan[None]]:
        mark = CancelMark(turn=begun[ref][0].row, reason="requested", at=T0)
        claims = (claim(f"b{name}"), claim(f"a{name}"))

        def decide(view: SessionView) -> Plan[None]:
            new = draft(view, name)
            return Plan(None, Writes(new_turn=new, cancels=(mark,), companions=claims))

        return decide

    async def accepts(host: PostgresStore, ref: SessionRef, name: str) -> None:
        for k in range(15):
            ask = Ask(lock="mailbox" if k % 2 else "session")
            await host.amend(ref, ask, decision(ref, f"{name}{k}"))

    async def works(ref: SessionRef) -> None:
        turn, fence = begun[ref]
        for k in range(15):
            if k % 3 == 0:
                tool = sleeper(0.002)
                saved = replace(turn, attempts=k)
                call = replace(tool.call, settle=lambda *_, s=saved: Writes(turns=(s,)))
                await store.run_local(fence, call)
            else:
                await store.commit(fence, Writes(turns=(turn,), steps=(step(turn, f"s{k}"),)))

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        for ref in refs:
            tasks.create_task(works(ref))
            for host, name in ((store, "x"), (other, "y"), (other, "z")):
                tasks.create_task(accepts(host, ref, f"{ref.key}{name}"))
    for ref in refs:
        view = await look(store, ref=ref)
        assert [head.number for head in view.open] == list(range(1, 47))
    after: Any = admin.execute(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    ).fetchone()
    assert after == before


async def test_two_hosts_that_amend_one_session_take_turns(
    store: PostgresStore, open_store: OpenStore
) -> None:
    other = await open_store()
    await accept(store)

    async def raises(host: PostgresStore, k: int) -> int:
        def decide(view: SessionView) -> Plan[int]:
            assert view.session is not None
            epoch = view.session.epoch + 1
            patch = SessionPatch(epoch=epoch, owner=f"host-{k}")
            return Plan(epoch, Writes(session=patch))

        return await host.amend(REF, Ask(), decide)

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        racers = [tasks.create_task(raises((store, other)[k % 2], k)) for k in range(60)]
    assert sorted(racer.result() for racer in racers) == list(range(1, 61))


async def test_one_new_session_is_made_once_by_two_hosts(
    store: PostgresStore, open_store: OpenStore
) -> None:
    other = await open_store()
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        views = [
            tasks.create_task(look((store, other)[k % 2], Ask(create=True, lock=lock)))
            for k in range(10)
            for lock in ("session", "mailbox")
        ]
    rows = {view.result().session for view in views}
    assert len({row.id for row in rows if row is not None}) == 1
    assert len(await store.list_sessions()) == 1


async def test_an_owner_is_alive_by_the_servers_clock(
    store: PostgresStore, open_store: OpenStore
) -> None:
    await begin(store)
    await store.beat("host-a")
    other = await open_store(lease=0)
    mine, theirs = await store.session(REF), await other.session(REF)
    assert mine is not None
    assert theirs is not None
    assert (mine.owner_alive, theirs.owner_alive) == (True, False)
