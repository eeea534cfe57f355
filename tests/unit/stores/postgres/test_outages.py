"""The server goes away, answers late or not at all, and comes back."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest

from gateway.engine.errors import StoreUnavailableError
from gateway.engine.kinds import SessionRef
from gateway.engine.ports import SessionStore
from gateway.engine.records import Ask, Plan, SessionView, SqlHandle, Writes
from gateway.stores.handle import HandleError
from gateway.stores.postgres import PostgresStore
from gateway.stores.postgres.link import Link
from tests.conformance.store_kit import (
    PATIENCE,
    REF,
    Tool,
    accept,
    begin,
    draft,
    message,
    model_step,
    query,
    step,
    with_handle,
)
from tests.support.postgres import PostgresServer
from tests.unit.stores.postgres.conftest import OpenStore, background
from tests.unit.stores.postgres.proxy import Proxy

pytestmark = pytest.mark.postgres

Admin = psycopg.Connection[Any]


@pytest.fixture
async def proxy(postgres_url: str) -> AsyncIterator[Proxy]:
    async with Proxy(postgres_url) as proxy:
        yield proxy


@pytest.fixture
async def far(proxy: Proxy) -> AsyncIterator[PostgresStore]:
    """A store behind the proxy."""
    store = PostgresStore(proxy.url, timeout=3.0)
    await store.open()
    yield store
    await store.close()


async def works(store: SessionStore, name: str) -> None:
    turn, fence = await begin(store, SessionRef("june", name))
    await store.commit(fence, model_step(turn, 0, 1))
    assert await query(store, fence, "SELECT 1") == [(1,)]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
async def test_a_restarted_server_is_found_again(
    store: PostgresStore, postgres: PostgresServer, how: signal.Signals
) -> None:
    turn, fence = await begin(store)
    await store.commit(fence, model_step(turn, 0, 1))
    await query(store, fence, "CREATE TABLE orders (item text)")
    postgres.stop(how)
    try:
        began = time.monotonic()
        with pytest.raises(StoreUnavailableError):
            await store.commit(fence, model_step(turn, 1, 4))
        with pytest.raises(StoreUnavailableError):
            await accept(store, turn_id="t2")
        with pytest.raises(StoreUnavailableError):
            await store.backlog(store.lease)
        tool = Tool(with_handle(lambda handle: handle.execute("SELECT 1")))
        with pytest.raises(StoreUnavailableError):
            await store.run_local(fence, tool.call)
        assert tool.runs == 0
        assert time.monotonic() - began < 5
    finally:
        postgres.start()
    assert await query(store, fence, "SELECT * FROM orders") == []
    await store.commit(fence, model_step(turn, 1, 4))
    assert [row.index for row in await store.messages(REF, 0)] == [0, 1]
    assert (await accept(store, turn_id="t2")).number == 2


async def test_a_restart_under_a_tool_undoes_it(
    open_store: OpenStore, postgres: PostgresServer
) -> None:
    store = await open_store(tool_limit=20.0)
    turn, fence = await begin(store)
    await query(store, fence, "CREATE TABLE orders (item text)")
    written, restarted = threading.Event(), threading.Event()

    def act(handle: SqlHandle) -> None:
        handle.execute("INSERT INTO orders VALUES ('lost')")
        written.set()
        restarted.wait(PATIENCE)

    tool = Tool(with_handle(act), Writes(steps=(step(turn, "tool:0:c1"),)))
    running = background(store.run_local(fence, tool.call))
    await asyncio.to_thread(written.wait, PATIENCE)
    postgres.stop(signal.SIGKILL)
    postgres.start()  # in the main thread: the server's life hangs on the thread that started it
    restarted.set()
    with pytest.raises(StoreUnavailableError):
        await running
    assert await store.steps(turn.row) == []
    assert await query(store, fence, "SELECT * FROM orders") == []


async def test_a_connection_that_was_cut_while_idle_is_replaced(
    store: PostgresStore, admin: Admin
) -> None:
    await works(store, "before")
    admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name LIKE 'june-gateway%'"
    )
    await asyncio.sleep(0.1)
    await works(store, "after")


async def test_a_commit_whose_answer_was_lost_is_settled_by_reading(
    store: PostgresStore, far: PostgresStore, proxy: Proxy
) -> None:
    turn, fence = await begin(far)
    await far.commit(fence, model_step(turn, 0, 1))
    proxy.mute()
    with pytest.raises(StoreUnavailableError):
        await far.commit(fence, model_step(turn, 1, 4))
    await asyncio.sleep(0.2)
    proxy.mend()
    assert [row.step for row in await far.steps(turn.row)] == ["model:0", "model:1"]
    await far.commit(fence, model_step(turn, 2, 7))
    assert len(await store.messages(REF, 0)) == 3


async def test_an_amend_that_lost_its_wire_leaves_no_lock(
    store: PostgresStore, far: PostgresStore, proxy: Proxy
) -> None:
    await accept(far)

    def decide(view: SessionView) -> Plan[None]:
        proxy.mute()
        return Plan(None, Writes(new_turn=draft(view, "t2")))

    with pytest.raises(StoreUnavailableError):
        await far.amend(REF, Ask(), decide)
    proxy.mend()
    async with asyncio.timeout(5):
        third = await accept(store, turn_id="t3")
    assert third.number == 2, "the write came, its COMMIT didn't"
    await accept(far, turn_id="t4")


async def test_a_tools_commit_whose_answer_was_lost(
    store: PostgresStore, far: PostgresStore, proxy: Proxy
) -> None:
    turn, fence = await begin(far)
    await query(far, fence, "CREATE TABLE orders (item text)")

    def act(handle: SqlHandle) -> None:
        handle.execute("INSERT INTO orders VALUES ('once')")

    writes = Writes(messages=(message(turn, 0),), steps=(step(turn, "tool:0:c1"),))
    tool = Tool(with_handle(act), writes)
    reached = tool.call.settle

    def settle(result: object, error: BaseException | None) -> Writes:
        proxy.mute()
        return reached(result, error)

    call = type(tool.call)(tool="note", turn_id="t1", run=tool.call.run, settle=settle)
    with pytest.raises(StoreUnavailableError):
        await far.run_local(fence, call)
    await asyncio.sleep(0.2)
    proxy.mend()
    written = len(await store.steps(turn.row))
    rows = await query(far, fence, "SELECT * FROM orders")
    assert len(rows) == written == len(await store.messages(REF, 0))


async def test_a_lock_that_nobody_gives_back_ends_the_wait(
    postgres_url: str, far: PostgresStore
) -> None:
    _, fence = await begin(far)
    with psycopg.connect(postgres_url) as holder:
        holder.execute("SELECT 1 FROM gw.sessions FOR UPDATE")
        began = time.monotonic()
        with pytest.raises(StoreUnavailableError):
            await far.commit(fence, Writes())
        assert 2 < time.monotonic() - began < 8
    await far.commit(fence, Writes())


async def test_connections_that_are_all_busy_end_the_wait(postgres_url: str) -> None:
    link = Link(postgres_url, size=2, timeout=0.3)
    link.open()
    async with link.use(), link.use():
        with pytest.raises(StoreUnavailableError, match="all 2 database connections are busy"):
            await link.fetchval("SELECT 1")
    assert await link.fetchval("SELECT 1") == 1
    await link.close()


async def test_cancelled_callers_leave_nothing_open(open_store: OpenStore, admin: Admin) -> None:
    small = await open_store(connections=3)
    turn, fence = await begin(small)
    for wave in range(10):
        tasks = [
            background(work)
            for k in range(4)
            for work in (
                small.amend(REF, Ask(), lambda view: Plan(None)),
                small.commit(fence, Writes(messages=(message(turn, 100 * wave + k),))),
                accept(small, SessionRef("june", f"s{wave}"), f"t{k}"),
            )
        ]
        await asyncio.sleep(0.002 * wave)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    async with asyncio.timeout(PATIENCE):
        await works(small, "after")
        await small.commit(fence, Writes())
    row: Any = admin.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND state LIKE 'idle in transaction%'"
    ).fetchone()
    assert row == (0,)


async def test_a_tool_that_sits_on_its_transaction_loses_it(
    open_store: OpenStore, store: PostgresStore
) -> None:
    """The server frees the session's row; the tool's call is an error, not the end of the turn."""
    strict = await open_store(tool_limit=0.4)
    turn, fence = await begin(strict)
    await query(strict, fence, "CREATE TABLE orders (item text)")

    def act(handle: SqlHandle) -> str:
        handle.execute("INSERT INTO orders VALUES ('never')")
        time.sleep(1.5)
        return "done"

    tool = Tool(with_handle(act), Writes(messages=(message(turn, 0),)))
    running = background(strict.run_local(fence, tool.call))
    await asyncio.sleep(1.1)
    async with asyncio.timeout(0.3):
        await store.commit(fence, Writes(steps=(step(turn, "model:0"),)))
    await running
    assert isinstance(tool.error, HandleError)
    assert len(await store.messages(REF, 0)) == 1
    assert await query(strict, fence, "SELECT * FROM orders") == []


async def test_closing_waits_for_a_tool_under_way(open_store: OpenStore) -> None:
    store = await open_store()
    turn, fence = await begin(store)
    tool = Tool(
        with_handle(lambda handle: handle.execute("SELECT pg_sleep(0.4)")),
        Writes(steps=(step(turn, "tool:0:c1"),)),
    )
    running = background(store.run_local(fence, tool.call))
    await asyncio.sleep(0.1)
    await store.close()
    await running
    again = await open_store()
    assert len(await again.steps(turn.row)) == 1


async def test_a_store_can_be_opened_again(open_store: OpenStore) -> None:
    store = await open_store()
    await store.close()
    await store.open()
    await works(store, "again")
