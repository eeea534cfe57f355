"""Hosts die around a tick: before it, while it is theirs, between the turn and the schedule's state. There
is one digest, whoever is left."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest

from gateway.engine.errors import StoreUnavailableError
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Document, Ledger
from gateway.engine.ports import SessionStore
from gateway.stores import open_store
from gateway.testing.crash import Crash, CrashingStore
from tests.support.cli import ROOT
from tests.unit.schedules.house import DIGEST, MONDAY, NINE, house

pytestmark = [pytest.mark.crash, pytest.mark.timeout(120)]

PATIENCE = 60
HELD = pytest.param("held", marks=pytest.mark.slow)
"""Where the tick is held and nothing is written yet: for a sample, dying later says more."""
SHORTLY_BEFORE = Millis(NINE - 2000)
SOON_AFTER = Millis(NINE + 10_000)


Left = tuple[list[tuple[str, str]], int]


async def digests(store: SessionStore) -> Left:
    """The turns that the tick opened with how they stand, and how many views of them there are."""
    turns = [(one.ref.key, str(one.turn.state)) for one in await store.list_turns()]
    ticks = await store.ledger.occurrences("june")
    assert [(tick.due, tick.outcome) for tick in ticks] == [(NINE, "fired")]
    return turns, len(await store.ledger.deliveries())


LONE = {"digest": replace(DIGEST, target=None)}
ONE = [("cron:digest:2026-11-30T09:00+01:00", "completed")]


# -- each write of it ------------------------------------------------------------------------------
class DyingLedger:
    """The writes that a schedule makes beside its turn are write points, too."""

    def __init__(self, store: CrashingStore) -> None:
        self._store = store
        self._inner = store.inner.ledger

    def __getattr__(self, name: str) -> Any:
        if self._store.dead:
            raise Crash(name)
        return getattr(self._inner, name)

    async def hold(self, name: str, owner: str, lease: Millis) -> bool:
        return await self._store._write("hold", lambda: self._inner.hold(name, owner, lease))

    async def let_go(self, name: str, owner: str) -> None:
        await self._store._write("let go", lambda: self._inner.let_go(name, owner))

    async def put_document(self, row: Document, expected: int | None) -> bool:
        put = self._inner.put_document
        return await self._store._write("state", lambda: put(row, expected))


async def live(path: Path, at: int | None, moment: Millis) -> list[str]:
    """One process around the tick, dying at write point ``at``. The points it passed."""
    inner = await asyncio.to_thread(open_store, f"sqlite:///{path}")
    await inner.open()
    store = CrashingStore(inner, at)
    store.ledger = cast("Ledger", DyingLedger(store))
    try:
        with contextlib.suppress(Crash, StoreUnavailableError):
            async with house(store, now=moment, channels=False, schedules=LONE) as here:
                await here.look()
                here.leap_to(max(NINE, moment))
                await here.look()
                (tick,) = await here.ticks()
                assert tick.session is not None
                assert tick.turn_id is not None
                await here.session(tick.session).result(tick.turn_id)
    except BaseExceptionGroup as group:
        _, other = group.split((Crash, StoreUnavailableError))
        if other is not None:
            raise
    finally:
        with contextlib.suppress(Crash):
            await inner.close()
    return store.survived


@pytest.mark.timeout(300)
async def test_a_process_dies_at_every_write_around_a_tick(tmp_path: Path) -> None:
    points = await live(tmp_path / "whole.db", None, MONDAY)
    assert {"hold", "enter", "state", "let go"} <= {name.partition(" ")[2] for name in points}
    for at in range(len(points)):
        path = tmp_path / f"{at}.db"
        await live(path, at, MONDAY)
        store = await asyncio.to_thread(open_store, f"sqlite:///{path}")
        await store.open()
        known = await store.ledger.documents("schedule")
        await store.close()
        # A schedule that nobody had heard of before the crash starts from now.
        await live(path, None, SOON_AFTER if known else MONDAY)
        store = await asyncio.to_thread(open_store, f"sqlite:///{path}")
        await store.open()
        assert await digests(store) == (ONE, 0), points[at]
        await store.close()


# -- real processes --------------------------------------------------------------------------------
@contextmanager
def worker(url: str, where: str, moment: Millis) -> Generator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.crash.schedules.worker", url, where, str(moment)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[bytes]) -> int:
    return process.wait(PATIENCE)


def ready(process: subprocess.Popen[bytes]) -> bool:
    assert process.stdout is not None
    return process.stdout.readline() == b"ready\n"


async def left_in(url: str) -> Left:
    store = await asyncio.to_thread(open_store, url)
    await store.open()
    try:
        return await digests(store)
    finally:
        await store.close()


@pytest.mark.parametrize("where", [HELD, "committed"])
async def test_a_killed_process_and_the_next_one_make_one_digest(
    where: str, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/june.db"
    with worker(url, where, SHORTLY_BEFORE) as first:
        assert await asyncio.to_thread(ended, first) == -signal.SIGKILL
    with worker(url, "never", SOON_AFTER) as second:
        assert await asyncio.to_thread(ended, second) == 0
    assert await left_in(url) == (ONE, 1)


@pytest.fixture
def lapsing(postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


@pytest.mark.postgres
@pytest.mark.parametrize("where", [HELD, "committed"])
async def test_one_of_two_hosts_dies_at_the_tick_and_the_other_sees_to_it(
    where: str, postgres_url: str, lapsing: psycopg.Connection[Any]
) -> None:
    with worker(postgres_url, where, SHORTLY_BEFORE) as first:
        assert await asyncio.to_thread(ended, first) == -signal.SIGKILL
        # All that it held lapses now, as it would by itself in half a minute.
        lapsing.execute("UPDATE gw.leases SET until = clock_timestamp()")
        lapsing.execute("DELETE FROM gw.hosts")
        with worker(postgres_url, "never", SOON_AFTER) as second:
            assert await asyncio.to_thread(ended, second) == 0
    assert await left_in(postgres_url) == (ONE, 1)


@pytest.mark.slow
@pytest.mark.postgres
async def test_of_three_hosts_one_dies_just_before_and_there_is_one_digest(
    postgres_url: str,
) -> None:
    with (
        worker(postgres_url, "never", Millis(NINE - 10_000)) as first,
        worker(postgres_url, "never", SHORTLY_BEFORE) as second,
        worker(postgres_url, "never", SHORTLY_BEFORE) as third,
    ):
        assert await asyncio.to_thread(ready, first)
        first.kill()
        for other in (second, third):
            assert await asyncio.to_thread(ended, other) == 0
    assert await left_in(postgres_url) == (ONE, 1)
