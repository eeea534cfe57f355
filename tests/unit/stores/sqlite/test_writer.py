"""Group commit: what shares a transaction, and when a caller is answered."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from typing_extensions import override

from gateway.engine.errors import StoreUnavailableError
from gateway.stores.sqlite.batch import Batch
from gateway.stores.sqlite.schema import connect
from gateway.stores.sqlite.undo import Undo
from gateway.stores.sqlite.writer import GROUP_PIECES, Writer
from tests.conformance.store_kit import PATIENCE


class Job:
    """A piece that does what the test says."""

    def __init__(
        self,
        act: Callable[[sqlite3.Cursor], object],
        *,
        apart: bool = False,
        spare: bool = False,
        prompt: bool = False,
    ) -> None:
        self.future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self.prompt = prompt
        self._apart = apart
        self.runs = 0
        self.told = 0
        self._act = act
        self._spare = spare
        self._blamed = False

    @property
    def apart(self) -> bool:
        return self._apart

    def run(self, cursor: sqlite3.Cursor) -> object:
        self.runs += 1
        return None if self._blamed else undone_on_error(cursor, self._act)

    def blame(self, error: BaseException) -> bool:
        del error
        self._blamed, before = self._spare, self._blamed
        return self._spare and not before

    def answered(self) -> None:
        self.told += 1


def undone_on_error(cursor: sqlite3.Cursor, act: Callable[[sqlite3.Cursor], object]) -> object:
    undo = Undo(cursor)
    undo.mark()
    try:
        result = act(cursor)
    except BaseException as error:
        undo.end(error)
        raise
    undo.end(None)
    return result


def put(value: object) -> Callable[[sqlite3.Cursor], object]:
    def run(cursor: sqlite3.Cursor) -> object:
        cursor.execute("INSERT INTO t VALUES (?)", (value,))
        return value

    return run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "w.db"


async def prepared(path: Path) -> sqlite3.Connection:
    def prepare() -> sqlite3.Connection:
        connection = connect(path)
        connection.execute("CREATE TABLE t (x UNIQUE)")
        return connection

    return await asyncio.to_thread(prepare)


@pytest.fixture
async def writer(path: Path) -> AsyncIterator[Writer]:
    connection = await prepared(path)
    writer = Writer(connection, asyncio.get_running_loop(), Batch(), idle=0.05)
    writer.start()
    yield writer
    assert await writer.stop(PATIENCE)


async def settle(writer: Writer, *jobs: Job) -> list[object]:
    """Submit them at once, behind a piece that keeps the writer busy until all are queued."""
    gate: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def wait(_: sqlite3.Cursor) -> None:
        asyncio.run_coroutine_threadsafe(_reached(gate), gate.get_loop()).result(PATIENCE)

    first = Job(wait, apart=True)
    writer.submit(first)
    for job in jobs:
        writer.submit(job)
    gate.set_result(None)
    async with asyncio.timeout(PATIENCE):
        await first.future
        await asyncio.wait([job.future for job in jobs])
    return [job.future.exception() or job.future.result() for job in jobs]


async def _reached(gate: asyncio.Future[None]) -> None:
    await gate


def kept(path: Path) -> list[object]:
    connection = sqlite3.connect(path)
    try:
        return [row[0] for row in connection.execute("SELECT x FROM t ORDER BY x")]
    finally:
        connection.close()


async def test_what_waits_commits_together(writer: Writer, path: Path) -> None:
    groups = writer.groups
    assert await settle(writer, *(Job(put(k)) for k in range(50))) == list(range(50))
    assert kept(path) == list(range(50))
    assert 2 <= writer.groups - groups < 25


async def test_a_group_is_bounded(writer: Writer) -> None:
    groups = writer.groups
    count = 2 * GROUP_PIECES + 1
    await settle(writer, *(Job(put(k)) for k in range(count)))
    assert writer.groups - groups >= 4


async def test_nobody_is_answered_before_the_commit(writer: Writer, path: Path) -> None:
    """Each answer finds the row visible to another connection."""
    job = Job(put(1))
    seen: list[list[object]] = []
    job.future.add_done_callback(lambda _: seen.append(kept(path)))
    await settle(writer, job, Job(put(2)))
    await asyncio.sleep(0)
    assert seen[0][0] == 1
    assert job.told == 1


@pytest.mark.parametrize("prompt", [False, True])
async def test_answers_come_in_the_order_of_the_writes(writer: Writer, prompt: bool) -> None:
    """What one caller of a session is told may be overtaken by what the next one is told."""
    jobs = [Job(put(k), prompt=prompt) for k in range(20)]
    told: list[int] = []
    for k, job in enumerate(jobs):
        job.future.add_done_callback(lambda _, k=k: told.append(k))  # type: ignore[misc]
    await settle(writer, *jobs)
    assert told == list(range(20))


async def test_an_error_undoes_its_own_piece(writer: Writer, path: Path) -> None:
    def half(cursor: sqlite3.Cursor) -> None:
        cursor.execute("INSERT INTO t VALUES (2)")
        raise LookupError("mine")

    first, bad, last = await settle(writer, Job(put(1)), Job(half), Job(put(3)))
    assert (first, last) == (1, 3)
    assert isinstance(bad, LookupError)
    assert kept(path) == [1, 3]


async def test_whoever_loses_the_transaction_is_alone_with_it(writer: Writer, path: Path) -> None:
    bad = Job(lambda cursor: cursor.execute("ROLLBACK"))
    jobs = [Job(put(1)), Job(put(2)), bad, Job(put(3))]
    results = await settle(writer, *jobs)
    assert (results[:2], results[3]) == ([1, 2], 3)
    assert isinstance(results[2], StoreUnavailableError)
    assert jobs[0].runs == 2
    assert kept(path) == [1, 2, 3]


async def test_a_piece_that_is_to_blame_gets_one_more_run(writer: Writer, path: Path) -> None:
    job = Job(lambda cursor: cursor.execute("ROLLBACK"), spare=True)
    assert await settle(writer, Job(put(1)), job) == [1, None]
    assert job.runs == 2
    assert kept(path) == [1]


async def test_a_savepoint_that_is_gone_counts_as_lost(writer: Writer, path: Path) -> None:
    bad = Job(lambda cursor: cursor.execute("RELEASE piece"))
    results = await settle(writer, Job(put(1)), bad, Job(put(2)))
    assert (results[0], results[2]) == (1, 2)
    assert isinstance(results[1], (sqlite3.Error, StoreUnavailableError))
    assert kept(path) == [1, 2]


async def test_a_commit_that_fails_is_reported_per_caller(writer: Writer, path: Path) -> None:
    def owe(cursor: sqlite3.Cursor) -> None:
        cursor.execute("INSERT INTO child VALUES (4711)")

    def tables(cursor: sqlite3.Cursor) -> None:
        cursor.execute("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
        cursor.execute(
            "CREATE TABLE child (p REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)"
        )

    await settle(writer, Job(tables))
    results = await settle(writer, Job(put(1)), Job(owe), Job(put(2)))
    assert (results[0], results[2]) == (1, 2)
    assert isinstance(results[1], Exception)
    assert kept(path) == [1, 2]


@pytest.mark.parametrize("error", [StopIteration, SystemExit, asyncio.CancelledError])
async def test_no_error_of_one_caller_stops_the_answers(
    writer: Writer, error: type[BaseException]
) -> None:
    def bad(_: sqlite3.Cursor) -> None:
        raise error

    job, after = Job(bad), Job(put(1))
    gone = Job(put(2))
    gone.future.cancel()
    for one in (job, gone, after):
        writer.submit(one)
    async with asyncio.timeout(PATIENCE):
        assert await after.future == 1
    assert job.future.done()
    if not job.future.cancelled():
        job.future.exception()
    assert (job.told, gone.told) == (1, 1)


class Broken(Job):
    """A fault of ours: it fails where the writer itself is at work."""

    @property
    @override
    def apart(self) -> bool:
        raise LookupError("broken")


async def test_a_fault_in_the_writer_itself_is_told_and_survived(
    writer: Writer, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Broken(put(2))
    results = await settle(writer, Job(put(1)), broken, Job(put(3)))
    assert results[2] == 3
    assert isinstance(results[1], StoreUnavailableError)
    assert "writer failed" in caplog.text
    assert 2 not in kept(path)


async def test_what_somebody_waits_for_goes_first_and_its_group_ends_with_it(
    writer: Writer,
) -> None:
    ran: dict[str, int] = {}

    def named(name: str, *, prompt: bool = False) -> Job:
        return Job(lambda _: ran.setdefault(name, writer.groups), prompt=prompt)

    own = [named(name) for name in "abc"]
    await settle(writer, *own, named("x", prompt=True), named("y", prompt=True))
    assert list(ran) == ["x", "y", "a", "b", "c"]
    assert ran["x"] == ran["y"] < ran["a"] == ran["b"] == ran["c"]


async def test_a_flood_of_prompt_pieces_doesnt_stop_the_others(writer: Writer) -> None:
    """After each group of theirs another piece begins one."""
    order: list[str] = []
    flooding = True

    def flood(_: sqlite3.Cursor) -> None:
        order.append("prompt")
        if flooding:
            loop.call_soon_threadsafe(lambda: writer.submit(Job(flood, prompt=True)))

    loop = asyncio.get_running_loop()
    for _ in range(3):
        writer.submit(Job(flood, prompt=True))
    await settle(writer, *(Job(lambda _: order.append("own")) for _ in range(5)))
    flooding = False
    assert order.count("own") == 5


async def test_a_caller_who_left_has_its_piece_committed(writer: Writer, path: Path) -> None:
    gone = Job(put(1))
    gone.future.cancel()
    writer.submit(gone)
    await settle(writer, Job(put(2)))
    assert kept(path) == [1, 2]


async def test_everything_submitted_before_the_end_is_done(path: Path) -> None:
    connection = await prepared(path)
    writer = Writer(connection, asyncio.get_running_loop(), Batch())
    writer.start()
    jobs = [Job(put(k)) for k in range(300)]
    for job in jobs:
        writer.submit(job)
    assert await writer.stop(PATIENCE)
    async with asyncio.timeout(PATIENCE):
        for job in jobs:
            await job.future
    assert len(kept(path)) == 300
    assert not Path(f"{path}-wal").exists()
    with pytest.raises(StoreUnavailableError):
        writer.submit(Job(put(1)))


async def test_the_log_is_folded_back_when_idle(writer: Writer, path: Path) -> None:
    await settle(writer, *(Job(put("x" * 5000 + str(k))) for k in range(50)))
    log = Path(f"{path}-wal")
    assert log.exists()
    async with asyncio.timeout(PATIENCE):
        while log.stat().st_size:
            await asyncio.sleep(0.01)
    assert len(kept(path)) == 50


async def test_a_reader_in_the_way_holds_nobody_up(writer: Writer, path: Path) -> None:
    await settle(writer, Job(put(1)))
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT * FROM t").fetchall() == [(1,)]
    await asyncio.sleep(0.15)
    assert await settle(writer, Job(put(2))) == [2]
    reader.close()
    assert kept(path) == [1, 2]
