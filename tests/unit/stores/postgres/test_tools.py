"""Sync tools on PostgreSQL: rights, role, transaction, time, and what is left on the connection."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from gateway.engine.errors import StaleAttemptError, StoreUnavailableError
from gateway.engine.kinds import SessionRef
from gateway.engine.records import Fence, SqlHandle, Writes
from gateway.stores.handle import HandleError
from gateway.stores.postgres import PostgresStore
from tests.conformance.store_kit import (
    PATIENCE,
    REF,
    Tool,
    begin,
    message,
    query,
    step,
    with_handle,
)
from tests.unit.stores.postgres.conftest import OpenStore, background

pytestmark = pytest.mark.postgres

Admin = psycopg.Connection[Any]


@pytest.fixture
async def fence(store: PostgresStore) -> Fence:
    _, fence = await begin(store)
    await query(store, fence, "CREATE TABLE orders (item text PRIMARY KEY, amount integer)")
    return fence


async def run(
    store: PostgresStore, fence: Fence, act: Callable[[SqlHandle], object], *, name: str = "note"
) -> Tool:
    tool = Tool(with_handle(act), name=name)
    await store.run_local(fence, tool.call)
    return tool


async def items(store: PostgresStore, fence: Fence) -> list[object]:
    return [row[0] for row in await query(store, fence, "SELECT item FROM orders ORDER BY 1")]


def order(handle: SqlHandle, item: str) -> None:
    handle.execute("INSERT INTO orders VALUES (?, 1)", [item])


# -- rights ----------------------------------------------------------------------------------------
async def test_a_tool_is_the_tools_role(store: PostgresStore, fence: Fence) -> None:
    ((user, session_user, database),) = await query(
        store, fence, "SELECT current_user, session_user, current_database()"
    )
    assert user == f"gw_tool_{database}"
    assert session_user != user


ESCAPES = {
    "set role": "SET ROLE june",
    "reset role": "RESET ROLE",
    "set_config": "SELECT set_config('role', 'june', true)",
    "set_config in quotes": "SELECT \"set_config\"('role', 'none', false)",
    "do": "DO $$ BEGIN RESET ROLE; END $$",
    "session authorization": "SET SESSION AUTHORIZATION DEFAULT",
    "function": "CREATE FUNCTION f() RETURNS void LANGUAGE sql AS 'RESET ROLE'",
    "settings view": "UPDATE pg_settings SET setting = 'on' WHERE name = 'row_security'",
    "xml": "SELECT query_to_xml('SELECT set_' || 'config(''role'', ''june'', true)', true, true, '')",
}


@pytest.mark.parametrize("way", ESCAPES)
async def test_no_statement_leaves_the_role(store: PostgresStore, fence: Fence, way: str) -> None:
    tool = await run(store, fence, lambda handle: handle.execute(ESCAPES[way]))
    assert isinstance(tool.error, HandleError)


async def test_the_role_itself_has_no_way_to_the_engine(store: PostgresStore, admin: Admin) -> None:
    """The second line, without the guard before it."""
    await begin(store)
    row: Any = admin.execute("SELECT current_database()").fetchone()
    for sql in (
        "SELECT * FROM gw.sessions",
        "UPDATE gw.sessions SET epoch = 0",
        "DELETE FROM gw.turns",
        "DROP TABLE gw.messages",
        "SELECT gw.refuse_claim('x')",
        "CREATE TABLE gw.mine (a int)",
        "CREATE VIEW peek AS SELECT * FROM gw.messages",
    ):
        with admin.transaction(force_rollback=True):
            admin.execute(f"SET LOCAL ROLE gw_tool_{row[0]}".encode())
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                admin.execute(sql.encode())


@pytest.mark.parametrize("local", ["true", "false"])
async def test_a_tool_that_left_its_role_by_the_applications_function_is_undone(
    store: PostgresStore, admin: Admin, fence: Fence, local: str
) -> None:
    """No guard sees into a function; what counts is who the tool was at its end."""
    admin.execute(
        "CREATE FUNCTION escape() RETURNS text LANGUAGE sql"
        f" AS $$ SELECT set_config('role', session_user::text, {local}) $$".encode()
    )

    def act(handle: SqlHandle) -> str:
        order(handle, "before")
        handle.execute("SELECT escape()")
        order(handle, "after")
        return "fine"

    turn = await store.turn(REF, "t1")
    assert turn is not None
    tool = Tool(with_handle(act), Writes(messages=(message(turn, 0),)))
    await store.run_local(fence, tool.call)
    assert isinstance(tool.error, HandleError)
    assert tool.result is None
    assert await items(store, fence) == []
    assert len(await store.messages(REF, 0)) == 1
    ((user,),) = await query(store, fence, "SELECT current_user")
    assert str(user).startswith("gw_tool_")


async def test_the_applications_tables_are_the_tools_too(
    open_store: OpenStore, postgres_url: str
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE earlier (id bigserial PRIMARY KEY, note text)")
        store = await open_store()
        connection.execute("CREATE TABLE later (id bigserial PRIMARY KEY, note text)")
        _, fence = await begin(store)
        for table in ("earlier", "later"):
            await query(store, fence, f"INSERT INTO {table} (note) VALUES (?)", "a")
            assert await query(store, fence, f"SELECT id, note FROM {table}") == [(1, "a")]
        await query(store, fence, "CREATE TABLE made (id int)")
        connection.execute("ALTER TABLE made ADD note text")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await query(store, fence, "DROP TABLE earlier")


# -- one transaction -------------------------------------------------------------------------------
async def test_one_statement_at_a_time_also_for_the_server(admin: Admin) -> None:
    cursor = psycopg.RawCursor(admin)
    with pytest.raises(psycopg.errors.SyntaxError, match="multiple commands"):
        cursor.execute(b"SELECT 1; SELECT 2", (), prepare=True)


async def test_a_failed_statement_leaves_the_rest_standing(
    store: PostgresStore, fence: Fence
) -> None:
    def act(handle: SqlHandle) -> object:
        for item in ("a", "a", "b", "b", "c"):
            with contextlib.suppress(psycopg.errors.UniqueViolation):
                order(handle, item)
        with contextlib.suppress(psycopg.Error):
            handle.executemany("INSERT INTO orders VALUES (?, 1)", [("d",), ("a",)])
        return handle.execute("SELECT count(*) FROM orders").fetchone()

    tool = await run(store, fence, act)
    assert tool.result == (3,)
    assert await items(store, fence) == ["a", "b", "c"]


async def test_a_deferred_constraint_is_the_tools_own_error(
    store: PostgresStore, fence: Fence
) -> None:
    await query(
        store, fence,
        "CREATE TABLE lines (item text REFERENCES orders DEFERRABLE INITIALLY DEFERRED)",
    )  # fmt: skip
    tool = await run(store, fence, lambda h: h.execute("INSERT INTO lines VALUES ('nowhere')"))
    assert isinstance(tool.error, psycopg.errors.ForeignKeyViolation)
    assert tool.result is None
    assert await query(store, fence, "SELECT * FROM lines") == []


async def test_a_serialization_failure_runs_the_tool_again(
    store: PostgresStore, admin: Admin, fence: Fence
) -> None:
    """Also when the tool swallows the error."""
    admin.execute(
        "CREATE SEQUENCE tries; GRANT ALL ON SEQUENCE tries TO PUBLIC;"
        " CREATE FUNCTION unlucky() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN"
        " IF nextval('tries') < 3 THEN RAISE serialization_failure; END IF; RETURN 1; END $$"
    )

    def act(handle: SqlHandle) -> str:
        order(handle, "once")
        with contextlib.suppress(psycopg.errors.SerializationFailure):
            handle.execute("SELECT unlucky()")
        return "done"

    tool = await run(store, fence, act)
    assert (tool.result, tool.error, tool.runs) == ("done", None, 3)
    assert await items(store, fence) == ["once"]


async def test_a_race_lost_again_and_again_leaves_nothing(
    store: PostgresStore, admin: Admin, fence: Fence
) -> None:
    admin.execute(
        "CREATE FUNCTION hopeless() RETURNS void LANGUAGE plpgsql"
        " AS $$ BEGIN RAISE deadlock_detected; END $$"
    )
    tool = Tool(with_handle(lambda handle: handle.execute("SELECT hopeless()")))
    with pytest.raises(StoreUnavailableError):
        await store.run_local(fence, tool.call)
    assert tool.runs > 1
    await query(store, fence, "SELECT 1")


async def test_two_tools_that_deadlock_both_commit(
    store: PostgresStore, admin: Admin, fence: Fence
) -> None:
    admin.execute("ALTER DATABASE " + str(admin.info.dbname) + " SET deadlock_timeout = '50ms'")
    await query(store, fence, "INSERT INTO orders VALUES ('a', 0), ('b', 0)")
    _, second = await begin(store, SessionRef("june", "second"))
    both = threading.Barrier(2, timeout=2)

    def crossing(first: str, then: str) -> Callable[[SqlHandle], object]:
        def act(handle: SqlHandle) -> None:
            raises = "UPDATE orders SET amount = amount + 1 WHERE item = ?"
            handle.execute(raises, [first])
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(0.5)
            handle.execute(raises, [then])

        return act

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        tasks.create_task(run(store, fence, crossing("a", "b")))
        tasks.create_task(run(store, second, crossing("b", "a")))
    assert await query(store, fence, "SELECT amount FROM orders") == [(2,), (2,)]


# -- time ------------------------------------------------------------------------------------------
async def test_a_tool_over_its_time_is_stopped(
    store: PostgresStore, fence: Fence, caplog: pytest.LogCaptureFixture
) -> None:
    def act(handle: SqlHandle) -> str:
        order(handle, "late")
        with contextlib.suppress(psycopg.Error):
            handle.execute("SELECT pg_sleep(10)")
        with pytest.raises(HandleError, match="over 1 s"):
            order(handle, "later")
        return "fine"

    began = time.monotonic()
    tool = await run(store, fence, act, name="slowpoke")
    assert time.monotonic() - began < 3
    assert isinstance(tool.error, HandleError)
    assert "over 1 s" in str(tool.error)
    assert await items(store, fence) == []
    assert "slowpoke" in caplog.text


async def test_many_short_statements_are_stopped_too(store: PostgresStore, fence: Fence) -> None:
    def act(handle: SqlHandle) -> None:
        while True:
            handle.execute("SELECT pg_sleep(0.05)")

    tool = await run(store, fence, act)
    assert isinstance(tool.error, HandleError)


async def test_a_tool_that_does_not_return_is_named(store: PostgresStore, fence: Fence) -> None:
    release = threading.Event()
    assert _stuck(store) is None
    running = background(run(store, fence, lambda _: release.wait(PATIENCE), name="stubborn"))
    await asyncio.sleep(0.3)
    assert _stuck(store) is None
    await asyncio.sleep(1.0)
    found = _stuck(store)
    assert found is not None
    assert found[:2] == ("stubborn", "t1")
    assert found[2] > 1
    release.set()
    tool = await running
    assert isinstance(tool.error, HandleError)
    assert _stuck(store) is None


async def test_a_slow_tool_delays_no_other_session(store: PostgresStore, fence: Fence) -> None:
    turn, other = await begin(store, SessionRef("june", "other"))
    await query(store, other, "SELECT 1")
    running = background(run(store, fence, lambda h: h.execute("SELECT pg_sleep(0.8)")))
    await asyncio.sleep(0.2)
    began = time.monotonic()
    await store.commit(other, Writes(steps=(step(turn, "model:0"),)))
    await query(store, other, "INSERT INTO orders VALUES ('quick', 1)")
    assert time.monotonic() - began < 0.4
    assert not running.done()
    await running


async def test_a_caller_that_is_cancelled_leaves_the_call_to_its_end(
    store: PostgresStore, fence: Fence
) -> None:
    turn = await store.turn(REF, "t1")
    assert turn is not None
    started = threading.Event()

    def act(handle: SqlHandle) -> None:
        started.set()
        order(handle, "kept")
        handle.execute("SELECT pg_sleep(0.3)")

    tool = Tool(with_handle(act), Writes(steps=(step(turn, "tool:0:c1"),)))
    running = background(store.run_local(fence, tool.call))
    await asyncio.to_thread(started.wait, PATIENCE)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await items(store, fence) == ["kept"], "the next call waits for it"
    assert [row.step for row in await store.steps(turn.row)] == ["tool:0:c1"]


# -- what is left ----------------------------------------------------------------------------------
async def test_temporary_tables_do_not_outlive_the_call(
    open_store: OpenStore, store: PostgresStore, fence: Fence
) -> None:
    single = await open_store(tools=1)
    await query(single, fence, "CREATE TEMP TABLE orders (fake text)")
    await query(single, fence, "CREATE TEMP TABLE orders (fake text)")
    await query(single, fence, "INSERT INTO orders VALUES ('real', 1)")
    assert await items(store, fence) == ["real"]


async def test_a_stale_call_leaves_the_connection_usable(
    open_store: OpenStore, fence: Fence, admin: Admin
) -> None:
    single = await open_store(tools=1)
    with pytest.raises(StaleAttemptError):
        await query(single, Fence(fence.session, fence.epoch + 9), "SELECT 1")
    assert await query(single, fence, "SELECT 1") == [(1,)]
    assert _left_open(admin) == 0


async def test_a_settlement_that_raises_rolls_everything_back(
    store: PostgresStore, fence: Fence, admin: Admin
) -> None:
    tool = Tool(with_handle(lambda handle: order(handle, "lost")))

    def settle(*_: object) -> Writes:
        raise LookupError("no such call")

    tool.call = type(tool.call)(tool="note", turn_id="t1", run=tool.call.run, settle=settle)
    with pytest.raises(LookupError):
        await store.run_local(fence, tool.call)
    assert await items(store, fence) == []
    assert _left_open(admin) == 0


def _left_open(admin: Admin) -> int:
    row: Any = admin.execute(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND state LIKE 'idle in transaction%'"
    ).fetchone()
    return int(row[0])


def _stuck(store: PostgresStore) -> tuple[str, str, float] | None:
    return store.stuck
