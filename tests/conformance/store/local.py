"""Store promises about sync tools: their writes and the checkpoint are one transaction, and nothing
a tool does can hurt a neighbour."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from gateway.engine.errors import StaleAttemptError, WriteConflictError
from gateway.engine.kinds import SessionRef
from gateway.engine.ports import SessionStore
from gateway.engine.records import Fence, SqlHandle, Writes
from gateway.stores.handle import HandleError
from tests.conformance.store_kit import (
    PATIENCE,
    REF,
    Tool,
    attempt,
    begin,
    event,
    message,
    model_step,
    query,
    step,
    with_handle,
)

ORDERS = "CREATE TABLE orders (item TEXT PRIMARY KEY, amount INTEGER)"


def order(handle: SqlHandle, item: str = "mine") -> None:
    handle.execute("INSERT INTO orders VALUES (?, ?)", (item, 1))


def says(sql: str) -> Callable[[SqlHandle], object]:
    return lambda handle: handle.execute(sql)


def calls(name: str) -> Callable[[SqlHandle], object]:
    return lambda handle: getattr(handle, name)()


def enters(handle: SqlHandle) -> None:
    with handle:  # type: ignore[attr-defined]
        order(handle, "within")


def raises(kind: type[BaseException]) -> Callable[[SqlHandle], object]:
    def run(_: SqlHandle) -> None:
        raise kind("on purpose")

    return run


def sqlite_only(act: Callable[[SqlHandle], object]) -> Callable[[SqlHandle], object]:
    def run(handle: SqlHandle) -> object:
        if handle.dialect != "sqlite":
            raise NotImplementedError("this statement is SQLite's own")
        return act(handle)

    return run


def loses_the_transaction(handle: SqlHandle) -> None:
    """The conflict ends the whole transaction; the tool swallows the error and writes on."""
    with contextlib.suppress(Exception):
        handle.execute("INSERT OR ROLLBACK INTO orders VALUES ('taken', 2)")
    order(handle, "afterwards")


def swallows_and_returns(handle: SqlHandle) -> str:
    with contextlib.suppress(Exception):
        handle.execute("INSERT OR ROLLBACK INTO orders VALUES ('taken', 2)")
    return "fine"


def rolls_back_by_trigger(handle: SqlHandle) -> None:
    handle.execute(
        "CREATE TRIGGER boom BEFORE INSERT ON orders WHEN new.item = 'boom'"
        " BEGIN SELECT RAISE(ROLLBACK, 'no'); END"
    )
    order(handle, "boom")


MISDEEDS: dict[str, Callable[[SqlHandle], object]] = {
    "constraint": lambda handle: order(handle, "taken"),
    "exception": raises(ZeroDivisionError),
    "system exit": raises(SystemExit),
    "keyboard interrupt": raises(KeyboardInterrupt),
    "cancelled": raises(asyncio.CancelledError),
    "commit": says("COMMIT"),
    "commit behind a comment": says("/* a; b */ -- c\n commit"),
    "end": says("END"),
    "rollback": says("ROLLBACK"),
    "begin": says("BEGIN"),
    "savepoint": says("SAVEPOINT mine"),
    "release": says("RELEASE piece"),
    "rollback to": says("ROLLBACK TO piece"),
    "two statements": says("INSERT INTO orders VALUES ('second', 1); COMMIT"),
    "commit method": calls("commit"),
    "rollback method": calls("rollback"),
    "script method": lambda handle: handle.executescript("COMMIT"),  # type: ignore[attr-defined]
    "with handle": enters,
    "syntax": says("INSERT INTO orders VALUES ("),
    "no such table": says("SELECT * FROM nowhere"),
    "reads the engine's table": says("SELECT count(*) FROM gw_turns"),
    "writes the engine's table": says("UPDATE gw_sessions SET epoch = 0"),
    "deletes from the engine's table": says("DELETE FROM gw_events"),
    "drops the engine's table": says("DROP TABLE gw_messages"),
    "alters the engine's table": says("ALTER TABLE gw_steps RENAME TO mine"),
    "takes the engine's name": says("CREATE TABLE gw_mine (x INTEGER)"),
    "insert or rollback": sqlite_only(says("INSERT OR ROLLBACK INTO orders VALUES ('taken', 2)")),
    "insert or rollback, swallowed": sqlite_only(swallows_and_returns),
    "insert or rollback, then more": sqlite_only(loses_the_transaction),
    "trigger that rolls back": sqlite_only(rolls_back_by_trigger),
    "attach": sqlite_only(says("ATTACH ':memory:' AS other")),
    "pragma": sqlite_only(says("PRAGMA synchronous = OFF")),
    "extension": sqlite_only(says("SELECT load_extension('x')")),
}


class LocalPromises:
    async def test_a_result_is_settled_and_committed(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        settled = Writes(
            messages=(message(turn, 0, '{"ok":1}', "tool"),),
            steps=(step(turn, "tool:0:c1", 0),),
            events=(event(turn, 1, "action.completed", 0),),
        )
        tool = Tool(lambda _: {"ok": 1}, settled)
        await store.run_local(fence, tool.call)
        assert (tool.result, tool.error, tool.runs) == ({"ok": 1}, None, 1)
        assert [m.body for m in await store.messages(REF, 0)] == ['{"ok":1}']
        assert [s.step for s in await store.steps(turn.row)] == ["tool:0:c1"]
        assert len(await store.events(REF, turn.row)) == 1

    @pytest.mark.parametrize("kind", [ValueError, SystemExit, KeyboardInterrupt, GeneratorExit])
    async def test_whatever_a_tool_raises_is_settled(
        self, store: SessionStore, kind: type[BaseException]
    ) -> None:
        turn, fence = await begin(store)

        def run(_: object) -> None:
            raise kind("on purpose")

        tool = Tool(run, Writes(messages=(message(turn, 0, '{"error":"x"}', "tool"),)))
        await store.run_local(fence, tool.call)
        assert tool.result is None
        assert type(tool.error) is kind
        assert [m.body for m in await store.messages(REF, 0)] == ['{"error":"x"}']

    async def test_a_stale_attempt_does_not_run_the_tool(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        await attempt(store)
        tool = Tool(lambda _: 1, Writes(messages=(message(turn, 0),)))
        with pytest.raises(StaleAttemptError):
            await store.run_local(fence, tool.call)
        assert tool.runs == 0
        assert await store.messages(REF, 0) == []

    async def test_a_settlement_that_cannot_be_written_is_the_callers(
        self, store: SessionStore
    ) -> None:
        turn, fence = await begin(store)
        await store.commit(fence, Writes(events=(event(turn, 1),)))
        tool = Tool(lambda _: 1, Writes(messages=(message(turn, 0),), events=(event(turn, 1),)))
        with pytest.raises(WriteConflictError):
            await store.run_local(fence, tool.call)
        assert await store.messages(REF, 0) == []
        await store.commit(fence, Writes(messages=(message(turn, 0),)))

    async def test_a_store_without_a_handle_says_so(self, store: SessionStore) -> None:
        _, fence = await begin(store)
        tool = Tool(lambda handle: handle is None)
        await store.run_local(fence, tool.call)
        assert tool.result is not store.capabilities.handle


class HandlePromises:
    """Skipped where the store has no handle to give."""

    @pytest.fixture
    async def fence(self, store: SessionStore) -> Fence:
        if not store.capabilities.handle:
            pytest.skip("this store gives sync tools no handle")
        _, fence = await begin(store)
        await query(store, fence, ORDERS)
        await query(store, fence, "INSERT INTO orders VALUES ('taken', 1)")
        return fence

    @staticmethod
    async def items(store: SessionStore, fence: Fence) -> list[object]:
        return [row[0] for row in await query(store, fence, "SELECT item FROM orders ORDER BY 1")]

    async def test_writes_and_checkpoint_are_one_transaction(
        self, store: SessionStore, fence: Fence
    ) -> None:
        turn = await store.turn(REF, "t1")
        assert turn is not None
        tool = Tool(with_handle(order), Writes(steps=(step(turn, "tool:0:c1"),)))
        await store.run_local(fence, tool.call)
        assert await self.items(store, fence) == ["mine", "taken"]
        await store.commit(fence, Writes(events=(event(turn, 1),)))
        bad = Tool(
            with_handle(lambda handle: order(handle, "second")),
            Writes(steps=(step(turn, "tool:0:c2"),), events=(event(turn, 1),)),
        )
        with pytest.raises(WriteConflictError):
            await store.run_local(fence, bad.call)
        assert await self.items(store, fence) == ["mine", "taken"]
        assert [s.step for s in await store.steps(turn.row)] == ["tool:0:c1"]

    async def test_the_handle_reads_and_writes(self, store: SessionStore, fence: Fence) -> None:
        def run(handle: SqlHandle) -> object:
            assert handle.dialect == store.dialect
            many = handle.executemany(
                "INSERT INTO orders VALUES (?, ?)", [("a", 1), ("b?", 2), ("c", None)]
            )
            rows = handle.execute("SELECT item, amount FROM orders ORDER BY item")
            first, rest = rows.fetchone(), rows.fetchall()
            again = rows.fetchone()
            changed = handle.execute("UPDATE orders SET amount = ? WHERE amount IS NULL", [9])
            odd = handle.execute("SELECT '?' || item FROM orders WHERE item = ?", ["b?"]).fetchone()
            return many.rowcount, first, rest, again, changed.rowcount, odd

        tool = Tool(with_handle(run))
        await store.run_local(fence, tool.call)
        assert tool.error is None
        assert tool.result == (
            3, ("a", 1), [("b?", 2), ("c", None), ("taken", 1)], None, 1, ("?b?",),
        )  # fmt: skip

    async def test_a_handle_dies_with_its_call(self, store: SessionStore, fence: Fence) -> None:
        kept: list[SqlHandle] = []
        await store.run_local(fence, Tool(with_handle(kept.append)).call)
        with pytest.raises(HandleError):
            kept[0].execute("SELECT 1")
        with pytest.raises(HandleError):
            await query(store, fence, "SELECT 1") and kept[0].executemany("SELECT 1", [])

    async def test_a_handle_stays_on_its_thread(self, store: SessionStore, fence: Fence) -> None:
        caught: list[BaseException] = []

        def run(handle: SqlHandle) -> None:
            def elsewhere() -> None:
                try:
                    order(handle)
                except HandleError as exc:
                    caught.append(exc)

            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()

        await store.run_local(fence, Tool(with_handle(run)).call)
        assert len(caught) == 1
        assert await self.items(store, fence) == ["taken"]

    async def test_rows_left_unread_hurt_nobody(self, store: SessionStore, fence: Fence) -> None:
        kept: list[object] = []

        def run(handle: SqlHandle) -> None:
            order(handle)
            kept.append(handle.execute("SELECT * FROM orders"))

        tool = Tool(with_handle(run))
        await store.run_local(fence, tool.call)
        assert tool.error is None
        assert await self.items(store, fence) == ["mine", "taken"]

    async def test_a_caught_error_does_not_end_the_call(
        self, store: SessionStore, fence: Fence
    ) -> None:
        def run(handle: SqlHandle) -> None:
            order(handle)
            with contextlib.suppress(Exception):
                order(handle, "taken")
            order(handle, "after")

        tool = Tool(with_handle(run))
        await store.run_local(fence, tool.call)
        assert tool.error is None
        assert await self.items(store, fence) == ["after", "mine", "taken"]

    @pytest.mark.parametrize("misdeed", sorted(MISDEEDS))
    async def test_a_misdeed_fails_its_own_call_only(
        self, store: SessionStore, fence: Fence, misdeed: str
    ) -> None:
        def run(handle: SqlHandle) -> object:
            order(handle)
            return MISDEEDS[misdeed](handle)

        guilty = Tool(with_handle(run))
        refs = [SessionRef("june", f"neighbour-{k}") for k in range(4)]
        neighbours = [await begin(store, ref) for ref in refs]
        tools = [
            Tool(
                with_handle(lambda handle, k=k: order(handle, f"n{k}")),  # type: ignore[misc]
                replace(model_step(turn, 0, 1), usage=()),
            )
            for k, (turn, _) in enumerate(neighbours)
        ]
        turn = await store.turn(REF, "t1")
        assert turn is not None
        guilty_call = replace(
            guilty.call,
            settle=lambda result, error: (
                guilty.call.settle(result, error),
                Writes(messages=(message(turn, 0, '{"error":1}', "tool"),)),
            )[1],
        )
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            tasks.create_task(store.commit(neighbours[0][1], model_step(neighbours[0][0], 0, 1)))
            tasks.create_task(store.run_local(neighbours[1][1], tools[1].call))
            tasks.create_task(store.run_local(fence, guilty_call))
            tasks.create_task(store.run_local(neighbours[2][1], tools[2].call))
            tasks.create_task(store.commit(neighbours[3][1], model_step(neighbours[3][0], 0, 1)))
        assert guilty.error is not None
        assert guilty.result is None
        assert [m.body for m in await store.messages(REF, 0)] == ['{"error":1}']
        for ref, (neighbour, _) in zip(refs, neighbours, strict=True):
            assert len(await store.messages(ref, 0)) == 1
            assert len(await store.events(ref, neighbour.row)) == 3
        assert (tools[1].error, tools[2].error) == (None, None)
        assert await self.items(store, fence) == ["n1", "n2", "taken"]
