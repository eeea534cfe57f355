"""A turn whose rows can't be read: told once, tried ever less often, in nobody's way, and mended at any time."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from gateway.engine.errors import ConfigError, GatewayError
from gateway.engine.loop import actor, recovery, stalls
from gateway.engine.loop.stalls import FIRST_PAUSE, LONGER_PAUSE, LONGEST_PAUSE, Stall
from gateway.engine.model import ModelReply, ModelRequest
from gateway.stores.sqlite import SqliteStore
from tests.conformance.engine.kit import (
    Bench,
    Hold,
    june,
    run,
    say,
    soon,
    until,
)

DAMAGES = {
    "a message that isn't JSON": (
        "UPDATE gw_messages SET body = substr(body, 5) WHERE idx = 0",
        "a stored record isn't JSON",
        "restore it from a backup",
    ),
    "a message of another release": (
        """UPDATE gw_messages SET body = replace(body, '"v":1', '"v":9')""",
        "has wire version 9",
        "run the release that wrote it",
    ),
    "a message that lacks something": (
        """UPDATE gw_messages SET body = '{"v":1}'""",
        "KeyError",
        "mend what is stored of it, or restore it from a backup",
    ),
    "no edition": (
        "DELETE FROM gw_editions",
        "is missing from the store",
        "restore the store from a backup",
    ),
    "an opening that isn't JSON": (
        "UPDATE gw_turns SET body = 'x' || body",
        "a stored record isn't JSON",
        "restore it from a backup",
    ),
}
TABLES = ("gw_messages", "gw_editions", "gw_turns")


class Database:
    """The file behind the store, in the hands of an operator."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def do(self, *statements: str) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            rows: list[tuple[object, ...]] = []
            for one in statements:
                rows = connection.execute(one).fetchall()
            return rows

    def damage(self, how: str) -> None:
        self.do(*(f"CREATE TABLE kept_{name} AS SELECT * FROM {name}" for name in TABLES), how)

    def mend(self) -> None:
        bodies = (
            f"UPDATE {name} SET body = (SELECT body FROM kept_{name} k WHERE k.id = {name}.id)"
            f" WHERE id IN (SELECT id FROM kept_{name})"
            for name in ("gw_messages", "gw_turns")
        )
        self.do(*bodies, "INSERT OR IGNORE INTO gw_editions SELECT * FROM kept_gw_editions")


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "june.db")


@pytest.fixture
async def bench(database: Database) -> AsyncIterator[Bench]:
    bench = Bench(partial(SqliteStore, database.path))
    await bench.open()
    yield bench
    await bench.close()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stalls, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(actor, "LONGEST_PAUSE", 0.05)
    monkeypatch.setattr(recovery, "SWEEP_EVERY", 0.02)


def errors(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [one for one in caplog.records if one.levelno >= logging.ERROR]


@pytest.mark.usefixtures("pauses")
@pytest.mark.parametrize("how", DAMAGES)
async def test_a_turn_that_cant_be_read_waits_to_be_mended(
    bench: Bench, database: Database, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    statement, why, fix = DAMAGES[how]
    hold = Hold()

    async def held(request: ModelRequest) -> ModelReply:
        await hold.here()
        return say("late")

    await bench.start(june(script=held))
    await bench.begin()
    await hold.wait()
    await bench.drain(grace=0.05)
    await asyncio.to_thread(database.damage, statement)
    await bench.start(june(script=say("done")))
    await until(lambda: bool(errors(caplog)))
    (told,) = errors(caplog)
    assert told.getMessage().startswith("session june/s can't go on: ")
    assert why in told.getMessage()
    assert f"Fix: {fix}" in told.getMessage()
    assert bool(told.exc_info) == (why == "KeyError"), "only what is no error of ours has a trace"

    later = await bench.begin("more", turn_id="t2")
    assert (await run(bench.session("other"))).text == "done"
    assert bench.runtime.health().ready
    before = bench.store.writes.count("begin")
    await asyncio.sleep(0.3)  # several tries
    assert len(errors(caplog)) == 1
    assert bench.store.writes.count("begin") <= before + 20

    await asyncio.to_thread(database.mend)
    assert (await soon(later.result("t1"))).text == "done"
    assert (await soon(later.result("t2"))).text == "done"
    (row,) = await asyncio.to_thread(
        database.do, "SELECT crashes, suspect FROM gw_turns WHERE turn_id = 't1'"
    )
    assert row == (0, 0), "nobody is blamed for it"


async def test_whoever_asks_is_not_kept_waiting_for_the_next_try(
    bench: Bench,
    database: Database,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stalls, "FIRST_PAUSE", 60.0)
    await bench.start(june(script=say("done")))
    await run(bench.session(), turn_id="t1")
    await bench.drain()
    await asyncio.to_thread(database.damage, DAMAGES["a message that isn't JSON"][0])
    await bench.start(june(script=say("done")))
    session = await bench.begin("more", turn_id="t2")
    await until(lambda: bool(errors(caplog)))
    await asyncio.to_thread(database.mend)
    await session.cancel("t2")
    assert (await soon(session.result("t2"))).status == "cancelled"
    await asyncio.to_thread(database.do, DAMAGES["a message that isn't JSON"][0])
    await soon(bench.drain(grace=60.0))


async def test_a_store_that_refuses_for_a_while_is_no_crash_and_soon_tried_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await bench.start(june(script=say("done")))
    refused = ConfigError("the database refuses this user", fix="let it in")

    async def refuse(*_: object) -> None:
        raise refused

    with monkeypatch.context() as away:
        away.setattr(bench.store, "commit", refuse)
        session = await bench.begin("go", turn_id="t1")
        await until(lambda: bool(errors(caplog)))
        await until(lambda: bench.store.writes.count("begin") >= 3)
    assert (await soon(session.result("t1"))).text == "done"
    assert sum("can't go on" in one.getMessage() for one in errors(caplog)) == 1
    assert "crash" not in caplog.text


async def test_a_turn_that_its_store_refused_is_left_at_its_checkpoint(
    bench: Bench,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    await bench.start(june(script=say("done")))

    async def refuse(*_: object) -> None:
        raise ConfigError("the database refuses this user", fix="let it in")

    monkeypatch.setattr(bench.store, "commit", refuse)
    await bench.begin("go", turn_id="t1")
    await until(lambda: bool(errors(caplog)))
    await bench.drain()
    (row,) = await asyncio.to_thread(
        database.do, "SELECT attempt_at, crashes FROM gw_turns WHERE turn_id = 't1'"
    )
    assert row == (None, 0)


async def test_a_process_that_ends_while_a_turn_waits_to_be_mended_is_no_crash(
    bench: Bench, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    await bench.start(june(script=say("done")))
    await run(bench.session(), turn_id="t1")
    await bench.drain()
    await asyncio.to_thread(database.damage, DAMAGES["a message that isn't JSON"][0])
    await bench.start()
    await bench.begin("more", turn_id="t2")
    for processes in range(1, 6):
        await until(lambda: len(errors(caplog)) == processes)  # noqa: B023 - it is awaited here
        await bench.kill()
        if processes == 5:
            await asyncio.to_thread(database.mend)
        await bench.start()
    assert (await soon(bench.session().result("t2"))).text == "done"
    assert "crash" not in caplog.text


def test_pauses_grow_and_end(caplog: pytest.LogCaptureFixture) -> None:
    stall = Stall("session june/s")
    met = [stall.met(GatewayError("damaged"), LONGEST_PAUSE) for _ in range(40)]
    assert met[:3] == [FIRST_PAUSE, FIRST_PAUSE * 2, FIRST_PAUSE * 4]
    assert met[-1] == LONGEST_PAUSE
    assert stall.met(GatewayError("damaged")) == LONGER_PAUSE, (
        "what may pass isn't waited for so long"
    )
    assert len(errors(caplog)) == 1
    stall.met(GatewayError("damaged elsewhere"))
    assert len(errors(caplog)) == 2
    stall.over()
    assert stall.met(GatewayError("damaged")) == FIRST_PAUSE
    assert len(errors(caplog)) == 3
