"""A piece that fails late takes nothing of its neighbours' along."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from gateway.engine.errors import InvalidInputError, StaleAttemptError
from gateway.engine.records import Ask, Audit, LocalCall, Plan, SessionView, Writes
from gateway.engine.struct import replace
from gateway.stores.sqlite import SqliteStore
from tests.conformance.store_kit import OTHER, REF, T0, accept, attempt, draft


async def test_a_tool_whose_end_is_refused_takes_no_accepted_turn_along(tmp_path: Path) -> None:
    """All in one group: two turns are accepted, one of them in the tool's own session, then the
    tool's checkpoint holds a row that can't be bound."""
    store = SqliteStore(tmp_path / "n.db")
    await store.open()
    try:
        await accept(store)
        await accept(store, OTHER)
        fence = await attempt(store)
        told = Audit(
            at=T0, kind="outcome_unknown", agent="june", session="s", turn_id="t1",
            subject="\ud800", by=None, digest=None, outcome="u",
        )  # fmt: skip
        call = LocalCall("x", "t1", lambda _: 1, lambda _, __: Writes(companions=(told,)))

        def busy(_: SessionView) -> Plan[None]:
            time.sleep(0.05)  # on the writer's thread: what follows queues up behind it
            return Plan(None)

        def enter(view: SessionView) -> Plan[None]:
            return Plan(None, Writes(new_turn=draft(view, "t2")))

        async def end() -> BaseException | None:
            try:
                await store.run_local(fence, call)
            except InvalidInputError as error:
                return error
            return None

        async with asyncio.TaskGroup() as group:
            group.create_task(store.amend(OTHER, Ask(), busy))
            group.create_task(store.amend(OTHER, Ask(), enter))
            group.create_task(store.amend(REF, Ask(), enter))
            ended = group.create_task(end())
        assert isinstance(ended.result(), InvalidInputError)
        assert await store.turn(OTHER, "t2") is not None
        assert await store.turn(REF, "t2") is not None
    finally:
        await store.close()


async def test_a_tool_runs_once_behind_a_neighbour_whose_fence_fell(tmp_path: Path) -> None:
    store, ran = SqliteStore(tmp_path / "n.db"), list[int]()
    await store.open()
    try:
        await accept(store)
        await accept(store, OTHER)
        fence, fallen = await attempt(store), await attempt(store, OTHER)
        call = LocalCall("x", "t1", lambda _: ran.append(1), lambda _, __: Writes())

        async def late() -> None:
            with pytest.raises(StaleAttemptError):
                await store.commit(replace(fallen, epoch=fallen.epoch - 1), Writes())

        async with asyncio.TaskGroup() as group:
            group.create_task(late())
            group.create_task(store.run_local(fence, call))
        assert ran == [1]
    finally:
        await store.close()
