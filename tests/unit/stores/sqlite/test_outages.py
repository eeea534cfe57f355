"""A store that can't write says so to each caller, keeps what it acknowledged, and recovers."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gateway.engine.errors import StoreUnavailableError
from gateway.engine.records import SqlHandle, Writes
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

BIG = '"' + "x" * 50_000 + '"'


def squeeze(connection: sqlite3.Connection, pages: int) -> None:
    """Leave room for this many pages only."""
    (now,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {now + pages}")


def relax(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA max_page_count = 1000000")


async def test_a_full_disk_refuses_some_and_keeps_the_others(
    store: SqliteStore, connection: sqlite3.Connection
) -> None:
    turn, fence = await begin(store)
    squeeze(connection, 60)
    outcomes: dict[int, StoreUnavailableError | None] = {}

    async def one(index: int) -> None:
        try:
            await store.commit(fence, Writes(messages=(message(turn, index, BIG),)))
            outcomes[index] = None
        except StoreUnavailableError as exc:
            outcomes[index] = exc

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        for index in range(20):
            tasks.create_task(one(index))
    kept = {row.index for row in await store.messages(REF, 0)}
    assert kept == {index for index, error in outcomes.items() if error is None}
    assert 0 < len(kept) < 20
    for error in outcomes.values():
        assert error is None or ("full" in str(error) and error.fix)
    with pytest.raises(StoreUnavailableError):
        await store.commit(fence, Writes(messages=(message(turn, 100, BIG),)))
    relax(connection)
    await store.commit(fence, Writes(messages=(message(turn, 100, BIG),)))
    assert {row.index for row in await store.messages(REF, 0)} == {*kept, 100}


async def test_acceptance_fails_while_the_disk_is_full(
    store: SqliteStore, connection: sqlite3.Connection
) -> None:
    await accept(store)
    squeeze(connection, 0)
    with pytest.raises(StoreUnavailableError):
        await accept(store, OTHER, body=BIG)
    assert await store.session(OTHER) is None
    relax(connection)
    assert (await accept(store, OTHER, body=BIG)).number == 1


async def test_a_tool_that_fills_the_disk_is_not_settled(
    store: SqliteStore, connection: sqlite3.Connection
) -> None:
    """It is the store that failed, so the call is to run again, not to be told to the model."""
    turn, fence = await begin(store)
    other, second = await begin(store, OTHER)
    await query(store, fence, "CREATE TABLE pile (x TEXT)")
    squeeze(connection, 30)

    def fill(handle: SqlHandle) -> None:
        for _ in range(10):
            handle.execute("INSERT INTO pile VALUES (?)", (BIG,))

    tool = Tool(with_handle(fill), Writes(messages=(message(turn, 0),)))
    calls: list[asyncio.Task[None]] = []

    async def guilty() -> None:
        with pytest.raises(StoreUnavailableError):
            await store.run_local(fence, tool.call)

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        for index in range(3):
            if index == 1:
                calls.append(tasks.create_task(guilty()))
            writes = Writes(messages=(message(other, index),))
            calls.append(tasks.create_task(store.commit(second, writes)))
    assert (tool.error, tool.result) == (None, None)
    assert len(await store.messages(OTHER, 0)) == 3
    assert await store.messages(REF, 0) == []
    relax(connection)
    assert await query(store, fence, "SELECT count(*) FROM pile") == [(0,)]
    await store.run_local(fence, tool.call)
    assert await query(store, fence, "SELECT count(*) FROM pile") == [(10,)]


async def test_a_tool_cannot_swallow_a_full_disk(
    store: SqliteStore, connection: sqlite3.Connection
) -> None:
    turn, fence = await begin(store)
    await query(store, fence, "CREATE TABLE pile (x TEXT)")
    squeeze(connection, 2)

    def fill(handle: SqlHandle) -> str:
        try:
            handle.execute("INSERT INTO pile VALUES (?)", (BIG,))
        except sqlite3.Error:
            return "fine"
        return "?"

    tool = Tool(with_handle(fill), Writes(messages=(message(turn, 0, '"small"'),)))
    with pytest.raises(StoreUnavailableError):
        await store.run_local(fence, tool.call)
    assert await store.messages(REF, 0) == []
    relax(connection)


async def test_a_file_locked_by_another_program_is_an_outage(
    store: SqliteStore, connection: sqlite3.Connection, tmp_path: Path
) -> None:
    turn, fence = await begin(store)
    connection.execute("PRAGMA busy_timeout = 50")
    with closing(sqlite3.connect(tmp_path / "june.db", isolation_level=None)) as intruder:
        intruder.execute("BEGIN IMMEDIATE")
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            for index in range(10):
                tasks.create_task(refused(store, index))
        assert (await store.messages(REF, 0)) == []
        intruder.execute("ROLLBACK")
    await store.commit(fence, Writes(messages=(message(turn, 0),)))


async def refused(store: SqliteStore, index: int) -> None:
    with pytest.raises(StoreUnavailableError, match="locked"):
        await accept(store, turn_id=f"late-{index}")


async def test_a_damaged_file_is_an_outage_not_a_crash(store: SqliteStore, tmp_path: Path) -> None:
    turn, fence = await begin(store)
    for index in range(50):
        await store.commit(fence, Writes(messages=(message(turn, index, BIG),)))
    await store.close()
    path = tmp_path / "june.db"
    data = bytearray(path.read_bytes())
    for page in range(2, len(data) // 4096, 2):
        data[page * 4096 : page * 4096 + 100] = b"\xff" * 100
    path.write_bytes(data)
    damaged = SqliteStore(path)

    async def use() -> None:
        await damaged.open()
        await damaged.messages(REF, 0)

    with pytest.raises(StoreUnavailableError):
        await use()
    await damaged.close()
