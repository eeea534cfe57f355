"""Checkpoints that share a transaction: no session pays for another's."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from gateway.engine.errors import StaleAttemptError, StoreUnavailableError, WriteConflictError
from gateway.engine.kinds import SessionId, SessionRef, TurnRow
from gateway.engine.records import Fence, TurnRecord, Writes
from gateway.stores.postgres import PostgresStore
from gateway.stores.postgres.writes import fenced
from tests.conformance.store_kit import (
    PATIENCE,
    T0,
    Tool,
    attempt,
    begin,
    event,
    every_write,
    message,
    model_step,
    with_handle,
)
from tests.unit.stores.postgres.conftest import background

Begun = list[tuple[SessionRef, TurnRecord, Fence]]
Admin = psycopg.Connection[Any]

MANY = 40


@pytest.fixture
async def begun(store: PostgresStore) -> Begun:
    refs = [SessionRef("june", f"s{k}") for k in range(MANY)]
    async with asyncio.TaskGroup() as tasks:
        started = [tasks.create_task(begin(store, ref)) for ref in refs]
    return [(ref, *task.result()) for ref, task in zip(refs, started, strict=True)]


async def steps(store: PostgresStore, turn: TurnRecord) -> int:
    return len(await store.steps(turn.row))


@pytest.mark.postgres
async def test_groups_are_formed_and_everybody_is_told_apart(
    store: PostgresStore, begun: Begun, admin: Admin
) -> None:
    stale, twice = begun[11], begun[22]
    await attempt(store, stale[0])
    await store.commit(twice[2], Writes(events=(event(twice[1], 1),)))
    outcomes: dict[int, BaseException] = {}

    async def one(k: int) -> None:
        try:
            await store.commit(begun[k][2], model_step(begun[k][1], 0, 1))
        except (StaleAttemptError, WriteConflictError) as exc:
            outcomes[k] = exc

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        for k in range(MANY):
            tasks.create_task(one(k))
    assert {k: type(exc) for k, exc in outcomes.items()} == {
        11: StaleAttemptError,
        22: WriteConflictError,
    }
    for k, (_, turn, _) in enumerate(begun):
        assert await steps(store, turn) == (0 if k in outcomes else 1)
    shared: Any = admin.execute(
        "SELECT count(DISTINCT xmin::text), count(*) FROM gw.steps", prepare=False
    ).fetchone()
    assert shared[1] == MANY - 2
    # A group that held a bad one was written one by one; the others share.
    await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        for k, (_, turn, fence) in enumerate(begun):
            if k not in outcomes:
                tasks.create_task(store.commit(fence, model_step(turn, 1, 4)))
    again: Any = admin.execute(
        "SELECT count(DISTINCT xmin::text) FROM gw.steps WHERE step = 'model:1'"
    ).fetchone()
    assert again[0] < MANY / 2


@pytest.mark.postgres
async def test_a_locked_session_holds_up_itself_alone(store: PostgresStore, begun: Begun) -> None:
    ref, locked, fence = begun[0]
    sleep = Tool(with_handle(lambda handle: handle.execute("SELECT pg_sleep(0.8)")))
    running = background(store.run_local(fence, sleep.call))
    await asyncio.sleep(0.2)
    began = time.monotonic()
    waiting = background(store.commit(fence, model_step(locked, 0, 1)))
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        for _, turn, other in begun[1:]:
            tasks.create_task(store.commit(other, model_step(turn, 0, 1)))
    assert time.monotonic() - began < 0.5
    assert not running.done()
    assert not waiting.done()
    await waiting
    assert time.monotonic() - began > 0.5
    await running
    assert len(await store.messages(ref, 0)) == 1


@pytest.mark.postgres
async def test_cancelled_callers_take_nobody_along(store: PostgresStore, begun: Begun) -> None:
    """Also in the middle of a group."""
    chance = random.Random(7)  # noqa: S311 - a seed, not a secret
    for wave in range(20):
        tasks = [
            background(store.commit(fence, model_step(turn, wave, 1 + 3 * wave)))
            for _, turn, fence in begun
        ]
        gone = set(chance.sample(range(MANY), MANY // 2))
        for k in gone:
            await asyncio.sleep(chance.choice([0, 0, 0.001]))
            tasks[k].cancel()
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait(tasks)
        for k, task in enumerate(tasks):
            if k not in gone:
                task.result()
                assert f"model:{wave}" in {row.step for row in await store.steps(begun[k][1].row)}


@pytest.mark.postgres
async def test_a_lost_connection_is_everybodys(
    store: PostgresStore, begun: Begun, admin: Admin
) -> None:
    for round_ in range(2):
        await store.commit(begun[0][2], Writes(messages=(message(begun[0][1], round_),)))
    with admin.transaction():
        admin.execute("LOCK TABLE gw.steps IN EXCLUSIVE MODE")
        tasks = [
            background(store.commit(fence, model_step(replace(turn, generation=1), 0, 1)))
            for _, turn, fence in begun
        ]
        await asyncio.sleep(0.3)
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'june-gateway' AND pid <> pg_backend_pid()"
        )
        await asyncio.sleep(0.2)
    async with asyncio.timeout(PATIENCE):
        await asyncio.wait(tasks)
    lost = [task for task in tasks if task.exception() is not None]
    assert lost
    assert all(isinstance(task.exception(), StoreUnavailableError) for task in lost)
    for task, (_, turn, fence) in zip(tasks, begun, strict=True):
        if task in lost:
            await store.commit(fence, model_step(replace(turn, generation=1), 0, 1))
        assert await steps(store, turn) == 1


def test_only_what_waits_for_nobody_joins_a_group() -> None:
    turn = TurnRecord(
        row=TurnRow(1), turn_id="t", number=1, generation=0, body="{}", content_hash="", source="",
        speaker=None, queued_at=T0,
    )  # fmt: skip
    fence = Fence(SessionId(1), 1)
    grouped = {kind for kind, writes in every_write(turn).items() if fenced(fence, writes).grouped}
    assert grouped == {"message", "step", "usage", "event"}
    assert fenced(fence, model_step(turn, 0, 1)).grouped
