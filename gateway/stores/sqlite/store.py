"""``sqlite://``: the seam on one file."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from typing_extensions import override

from gateway.engine.errors import ConfigError
from gateway.engine.kinds import Millis, SessionRef
from gateway.engine.ledger import Ledger
from gateway.engine.ports import StoreCapabilities
from gateway.engine.records import Ask, Fence, LocalCall, Plan, SessionView, Writes
from gateway.engine.struct import struct
from gateway.stores.sql import load_migrations
from gateway.stores.sqlite.batch import Batch
from gateway.stores.sqlite.faults import closed_error, engine_error
from gateway.stores.sqlite.guard import Guard
from gateway.stores.sqlite.ledger.ledger import SqliteLedger
from gateway.stores.sqlite.lockfile import LockFile
from gateway.stores.sqlite.pieces import AmendPiece, BeatPiece, CommitPiece, LocalPiece
from gateway.stores.sqlite.readers import Readers
from gateway.stores.sqlite.reading import ReadingStore
from gateway.stores.sqlite.rows import SQL
from gateway.stores.sqlite.schema import connect, migrate
from gateway.stores.sqlite.writer import Piece, Writer

T = TypeVar("T")

_log = logging.getLogger(__name__)
GONE = ("forget_hosts", "void_deliveries", "void_inbox", "void_leases")


@struct(frozen=True, slots=True)
class StoreSize:
    """Bytes on disk: the database, and the log that waits to be folded into it."""

    database: int
    log: int


@dataclass(slots=True)
class _Open:
    """What an open store holds."""

    loop: asyncio.AbstractEventLoop
    lock: LockFile
    connection: sqlite3.Connection
    guard: Guard
    batch: Batch
    writer: Writer

    def drop(self) -> None:
        """Let go before the writer ever started."""
        self.connection.close()
        self.lock.release()


class SqliteStore(ReadingStore):
    """One host's store.

    ``tool_limit`` is how many seconds a sync tool may hold the writer before its SQL is stopped.
    ``lease`` is how long after its last beat an owner counts as alive where no lease is named.
    """

    def __init__(
        self, path: str | Path, *, tool_limit: float = 5.0, lease: Millis = Millis(30_000)
    ) -> None:
        self.seam_version = 2
        self.dialect = "sqlite"
        self.capabilities = StoreCapabilities(
            rollback=True, durable=True, handle=True, shared=False
        )
        self.path = Path(path)
        self.lease = lease
        self._tool_limit = tool_limit
        self._opened: _Open | None = None
        self._readers = Readers(self.path)
        self.ledger: Ledger = SqliteLedger(lambda: self._readers, self._run)
        self._local_calls = 0
        self._ticking: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        """Take the lock, bring the schema up to date, start the writer."""
        if self._opened is not None:
            return
        loop = asyncio.get_running_loop()
        preparing = loop.run_in_executor(None, self._prepare, loop)
        try:
            opened = await asyncio.shield(preparing)
        except asyncio.CancelledError:
            preparing.add_done_callback(_abandon)
            raise
        try:
            self._readers = Readers(self.path)
            await self._readers.open()
        except BaseException:
            opened.drop()
            raise
        opened.writer.start()
        self._opened = opened

    async def close(self) -> None:
        """Finish what was submitted, fold the log back, let go of the file."""
        opened, self._opened = self._opened, None
        if opened is None:
            return
        await self._readers.close()
        stopped = await opened.writer.stop(2 * self._tool_limit)
        if self._ticking is not None:
            self._ticking.cancel()
            self._ticking = None
        if stopped:
            opened.lock.release()
        else:
            _log.error("a tool doesn't return, so %s stays locked by this process", self.path)

    def _prepare(self, loop: asyncio.AbstractEventLoop) -> _Open:
        """Everything that waits for the disk, on a thread."""
        self.path = self.path.resolve()
        with ExitStack() as undo:
            try:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                lock = LockFile(self.path)
                undo.callback(lock.release)
                connection = connect(self.path)
                undo.callback(connection.close)
                migrate(connection, self.path, load_migrations("sqlite"))
                # The lock says that whoever beat before, or held a lease, is gone.
                for statement in GONE:
                    connection.execute(SQL[statement])
                guard = Guard(connection, self._tool_limit)
            except OSError as exc:
                raise ConfigError(
                    f"can't open {self.path} for writing: {exc.strerror}",
                    fix="point DATABASE_URL at a file in a folder this user may write",
                ) from exc
            except sqlite3.Error as exc:
                raise engine_error(exc) from exc
            undo.pop_all()
        batch = Batch()
        return _Open(loop, lock, connection, guard, batch, Writer(connection, loop, batch))

    # -- writes --------------------------------------------------------------------------------
    async def amend(self, ref: SessionRef, ask: Ask, decide: Callable[[SessionView], Plan[T]]) -> T:
        made = await self._run(
            lambda future, batch: AmendPiece(future, ref, ask, decide, self.lease, batch)
        )
        return cast("T", made)

    async def commit(self, fence: Fence, writes: Writes) -> None:
        await self._run(lambda future, batch: CommitPiece(future, fence, writes, batch))

    async def run_local(self, fence: Fence, call: LocalCall) -> None:
        opened = self._writing()
        future = opened.loop.create_future()
        piece = LocalPiece(future, fence, call, opened.guard, self._local_done, opened.batch)
        self._local_calls += 1
        if self._ticking is None:
            self._tick(opened)
        opened.writer.submit(piece)
        await future

    async def beat(self, owner: str) -> None:
        await self._run(lambda future, _: BeatPiece(future, owner))

    def _run(
        self, make: Callable[[asyncio.Future[object], Batch], Piece]
    ) -> asyncio.Future[object]:
        opened = self._writing()
        piece = make(opened.loop.create_future(), opened.batch)
        opened.writer.submit(piece)
        return piece.future

    def _writing(self) -> _Open:
        if self._opened is None:
            raise closed_error()
        return self._opened

    # -- watching tools ------------------------------------------------------------------------
    def _local_done(self) -> None:
        self._local_calls -= 1

    def _tick(self, opened: _Open) -> None:
        """Look after sync tools for as long as any waits or runs."""
        opened.guard.interrupt_overdue()
        self._ticking = None
        if self._local_calls:
            self._ticking = opened.loop.call_later(self._tool_limit / 10, self._tick, opened)

    @property
    def stuck(self) -> tuple[str, str, float] | None:
        """Tool, turn and seconds of a sync tool that was stopped and still hasn't returned. The
        host is not ready then; after 30 s it should end the process, naming both."""
        return self._opened.guard.stuck if self._opened else None

    # -- for operators -------------------------------------------------------------------------
    async def size(self) -> StoreSize:
        return await asyncio.to_thread(
            lambda: StoreSize(_bytes(self.path), _bytes(Path(f"{self.path}-wal")))
        )

    @override
    def __repr__(self) -> str:
        return f"SqliteStore({str(self.path)!r})"


def _abandon(preparing: asyncio.Future[_Open]) -> None:
    """Whoever wanted the store open was cancelled while it was being prepared."""
    if preparing.exception() is None:
        preparing.result().drop()


def _bytes(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
