"""What a sync tool can't do to the writer, and what it pays for holding it."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.engine.errors import ConfigError, StaleAttemptError, StoreUnavailableError
from gateway.engine.records import Fence, SqlHandle, Writes
from gateway.stores.handle import HandleError
from gateway.stores.sqlite import SqliteStore
from tests.conformance.store_kit import (
    OTHER,
    PATIENCE,
    REF,
    Tool,
    accept,
    begin,
    message,
    query,
    with_handle,
)

TOOL_LIMIT = 0.3  # as in conftest.py
FOREVER = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
async def fence(store: SqliteStore) -> Fence:
    _, fence = await begin(store)
    await query(store, fence, "CREATE TABLE orders (item TEXT PRIMARY KEY, amount INTEGER)")
    return fence


async def run(
    store: SqliteStore, fence: Fence, act: Callable[[SqlHandle], object], name: str = "note"
) -> Tool:
    tool = Tool(with_handle(act), name=name)
    await store.run_local(fence, tool.call)
    return tool


REFUSED = {
    "main schema": "SELECT * FROM main.gw_turns",
    "other case": "SELECT * FROM GW_Turns",
    "quoted": 'SELECT * FROM "gw_turns"',
    "in a subquery": "SELECT (SELECT count(*) FROM gw_events)",
    "in a common table expression": "WITH x AS (SELECT * FROM gw_events) SELECT * FROM x",
    "in an insert": "INSERT INTO orders SELECT body, 1 FROM gw_messages",
    "in a delete": "DELETE FROM orders WHERE item IN (SELECT body FROM gw_messages)",
    "replace": "REPLACE INTO gw_hosts VALUES ('x', 1)",
    "index": "CREATE INDEX mine ON gw_events (at)",
    "drop index": "DROP INDEX gw_turns_live",
    "trigger": "CREATE TRIGGER t AFTER INSERT ON gw_events BEGIN DELETE FROM orders; END",
    "temp trigger": "CREATE TEMP TRIGGER t AFTER INSERT ON main.gw_events"
    " BEGIN DELETE FROM orders; END",
    "trigger's name": "CREATE TRIGGER gw_t AFTER INSERT ON orders BEGIN SELECT 1; END",
    "temp table that hides ours": "CREATE TEMP TABLE gw_events (turn INTEGER)",
    "temp view that hides ours": "CREATE TEMP VIEW gw_events AS SELECT 1 AS turn",
    "view of ours": "CREATE VIEW gw_v AS SELECT 1",
    "virtual table": "CREATE VIRTUAL TABLE gw_f USING fts5(x)",
    "rename to ours": "ALTER TABLE orders RENAME TO gw_orders",
    "add a column": "ALTER TABLE gw_turns ADD COLUMN x",
    "drop": "DROP TABLE IF EXISTS gw_turns",
    "foreign key at ours": "CREATE TABLE f (t INTEGER REFERENCES gw_turns (id))",
    "foreign key that can't match": "CREATE TABLE f (t REFERENCES gw_events (body))",
    "analyze": "ANALYZE",
    "pragma function": "SELECT * FROM pragma_table_info('orders')",
    "detach": "DETACH main",
    "vacuum": "VACUUM",
    "writable schema": "UPDATE sqlite_master SET sql = ''",
    "conflict clause on ours": "INSERT OR ROLLBACK INTO gw_hosts VALUES ('x', 1)",
}


@pytest.mark.parametrize("how", REFUSED)
async def test_the_engines_tables_are_out_of_reach(
    store: SqliteStore, fence: Fence, how: str
) -> None:
    def act(handle: SqlHandle) -> None:
        handle.execute("INSERT INTO orders VALUES ('mine', 1)")
        handle.execute(REFUSED[how])

    tool = await run(store, fence, act)
    assert isinstance(tool.error, (HandleError, sqlite3.Error))
    assert await query(store, fence, "SELECT * FROM orders") == []
    turn = await accept(store, OTHER)
    assert turn.number == 1


async def test_a_trigger_of_a_tool_reaches_no_further_than_the_tool(
    store: SqliteStore, fence: Fence
) -> None:
    def act(handle: SqlHandle) -> None:
        handle.execute("CREATE TRIGGER t AFTER INSERT ON orders BEGIN DELETE FROM gw_sessions; END")
        handle.execute("INSERT INTO orders VALUES ('mine', 1)")

    tool = await run(store, fence, act)
    assert isinstance(tool.error, HandleError)
    assert await store.session(REF) is not None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 AS gw_turns",
        "CREATE TABLE gwendolyn (gw_total INTEGER)",
        "CREATE TEMP TABLE scratch (x INTEGER)",
        "CREATE INDEX by_amount ON orders (amount)",
        "CREATE VIRTUAL TABLE notes USING fts5(text)",
        "CREATE TABLE lines (item TEXT REFERENCES orders (item))",
        "ALTER TABLE orders RENAME TO purchases",
        "DROP TABLE orders",
        "SELECT name FROM sqlite_master",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT * FROM n",
        "-- nothing",
    ],
)
async def test_a_tools_own_world_is_its_own(store: SqliteStore, fence: Fence, sql: str) -> None:
    assert (await run(store, fence, lambda handle: handle.execute(sql))).error is None


async def test_the_engines_statements_stay_prepared(
    store: SqliteStore, fence: Fence, connection: sqlite3.Connection
) -> None:
    """The same text as one of the engine's statements is still refused to a tool, and the engine's
    goes on working."""
    turn = await store.turn(REF, "t1")
    assert turn is not None
    statement = "SELECT 1 FROM gw_sessions WHERE id = ? AND epoch = ?"
    assert connection.execute(statement, (fence.session, fence.epoch)).fetchone() == (1,)
    tool = await run(store, fence, lambda handle: handle.execute(statement, (1, 1)))
    assert isinstance(tool.error, HandleError)
    await store.commit(fence, Writes(messages=(message(turn, 0),)))


async def test_named_parameters_are_refused(store: SqliteStore, fence: Fence) -> None:
    def act(handle: SqlHandle) -> None:
        handle.execute("SELECT :x", {"x": 1})  # type: ignore[arg-type]

    assert isinstance((await run(store, fence, act)).error, HandleError)


async def test_sql_over_its_time_is_stopped(store: SqliteStore, fence: Fence) -> None:
    def act(handle: SqlHandle) -> None:
        handle.execute("INSERT INTO orders VALUES ('mine', 1)")
        handle.execute(FOREVER)

    async with asyncio.timeout(PATIENCE):
        tool = await run(store, fence, act)
    assert isinstance(tool.error, HandleError)
    assert "0.3 s" in str(tool.error)
    assert await query(store, fence, "SELECT * FROM orders") == []
    assert store.stuck is None


async def test_a_write_over_its_time_takes_no_neighbour_along(
    store: SqliteStore, fence: Fence
) -> None:
    """SQLite answers an interrupted write by rolling the whole transaction back."""
    turn, other = await begin(store, OTHER)
    endless = FOREVER.replace("count(*)", "i, 1")
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        tasks.create_task(store.commit(other, Writes(messages=(message(turn, 0),))))
        call = tasks.create_task(
            run(store, fence, lambda handle: handle.execute(f"INSERT INTO orders {endless}"))
        )
        tasks.create_task(store.commit(other, Writes(messages=(message(turn, 1),))))
    assert isinstance(call.result().error, HandleError)
    assert len(await store.messages(OTHER, 0)) == 2
    assert await query(store, fence, "SELECT count(*) FROM orders") == [(0,)]


async def test_many_short_statements_are_stopped_too(store: SqliteStore, fence: Fence) -> None:
    def act(handle: SqlHandle) -> None:
        while True:
            handle.execute("SELECT 1")

    async with asyncio.timeout(PATIENCE):
        tool = await run(store, fence, act)
    assert isinstance(tool.error, HandleError)


async def test_a_swallowed_interruption_is_an_error_all_the_same(
    store: SqliteStore, fence: Fence
) -> None:
    def act(handle: SqlHandle) -> str:
        handle.execute("INSERT INTO orders VALUES ('mine', 1)")
        try:
            handle.execute(FOREVER)
        except HandleError:
            return "fine"
        return "?"

    async with asyncio.timeout(PATIENCE):
        tool = await run(store, fence, act)
    assert isinstance(tool.error, HandleError)
    assert await query(store, fence, "SELECT * FROM orders") == []


async def test_a_tool_that_does_not_return_is_named(store: SqliteStore, fence: Fence) -> None:
    released = asyncio.Event()
    loop = asyncio.get_running_loop()

    def act(_: SqlHandle) -> None:
        asyncio.run_coroutine_threadsafe(released.wait(), loop).result(PATIENCE)

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        call = tasks.create_task(run(store, fence, act, "sleepy"))
        while not (stuck := store.stuck):
            await asyncio.sleep(0.01)
        released.set()
    assert stuck[:2] == ("sleepy", "t1")
    assert stuck[2] > TOOL_LIMIT
    assert isinstance(call.result().error, HandleError)
    assert store.stuck is None


async def test_closing_does_not_wait_for_ever(tmp_path: Path) -> None:
    """The tool keeps its thread and the file; the process is about to end anyway."""
    store = SqliteStore(tmp_path / "june.db", tool_limit=0.05)
    await store.open()
    turn, fence = await begin(store)
    released = threading.Event()
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        call = tasks.create_task(run(store, fence, lambda _: released.wait(PATIENCE), "sleepy"))
        while not store.stuck:
            await asyncio.sleep(0.01)
        await store.close()
        with pytest.raises(ConfigError):
            await SqliteStore(tmp_path / "june.db").open()
        with pytest.raises(StoreUnavailableError):
            await store.commit(fence, Writes(messages=(message(turn, 0),)))
        released.set()
    assert isinstance(call.result().error, HandleError)


async def test_a_slow_tool_is_warned_about_and_set_apart(
    store: SqliteStore, fence: Fence, caplog: pytest.LogCaptureFixture
) -> None:
    assert store._opened is not None
    writer = store._opened.writer
    with caplog.at_level(logging.WARNING, "gateway.stores"):
        await run(store, fence, lambda _: time.sleep(0.05), "slowcoach")
    (record,) = caplog.records
    assert "slowcoach" in record.getMessage()
    assert "t1" in record.getMessage()
    groups = writer.groups
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        for _ in range(5):
            tasks.create_task(run(store, fence, lambda _: None, "slowcoach"))
    assert writer.groups == groups + 5


async def test_a_deferred_constraint_fails_its_own_call(store: SqliteStore, fence: Fence) -> None:
    """It shows at COMMIT only, which everyone in the group shares."""
    turn, other = await begin(store, OTHER)
    await query(
        store,
        fence,
        "CREATE TABLE lines (item TEXT REFERENCES orders (item) DEFERRABLE INITIALLY DEFERRED)",
    )
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        tasks.create_task(store.commit(other, Writes(messages=(message(turn, 0),))))
        call = tasks.create_task(
            run(store, fence, lambda handle: handle.execute("INSERT INTO lines VALUES ('none')"))
        )
        tasks.create_task(store.commit(other, Writes(messages=(message(turn, 1),))))
    assert isinstance(call.result().error, sqlite3.IntegrityError)
    assert len(await store.messages(OTHER, 0)) == 2
    assert await query(store, fence, "SELECT * FROM lines") == []


async def test_a_stale_call_alone_is_still_stale(store: SqliteStore, fence: Fence) -> None:
    tool = Tool(with_handle(lambda handle: handle.execute("INSERT OR ROLLBACK INTO x VALUES (1)")))
    with pytest.raises(StaleAttemptError):
        await store.run_local(Fence(fence.session, fence.epoch - 1), tool.call)
    assert tool.runs == 0
