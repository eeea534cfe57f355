"""Sync tools: the tool's writes, its checkpoint and its transcript in one transaction.

A tool needs a synchronous handle, so it runs in a thread with a psycopg connection of that thread.
What the transaction is made of, in order::

    BEGIN, the fence under the session's row     a stale attempt ends here, the tool never ran
    SAVEPOINT gw_tool, SET LOCAL role            the tool's rights
    the tool                                     one savepoint per statement
    same transaction and role still? role back   else everything is rolled back: the tool's error
    the settlement, COMMIT

The lock on the session's row is held while the tool runs: its own session waits, nobody else does.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg

from gateway.engine.errors import StaleAttemptError, StoreUnavailableError
from gateway.engine.records import Fence, LocalCall, Writes
from gateway.stores.handle import HandleError
from gateway.stores.postgres.faults import RERUN, RerunError, sqlstate, translated
from gateway.stores.postgres.handle import Connection, PostgresHandle, too_long
from gateway.stores.postgres.schema import Place, literal
from gateway.stores.postgres.writes import held

log = logging.getLogger(__name__)

SLOW = 0.025
IDLE = 2
"""This many limits without a statement and the server takes the locks back: a process that was
frozen inside a tool must not hold its session for ever."""
RERUNS = 5
CLOSE_WITHIN = 5.0


@dataclass(slots=True, eq=False)
class Job:
    """One call on its way through a thread. ``started`` is when the tool itself began."""

    call: LocalCall
    running: bool = False
    done: bool = False
    started: float | None = None
    connection: Connection | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def seconds(self) -> float:
        return 0.0 if self.started is None else time.monotonic() - self.started

    def begin(self, connection: Connection) -> None:
        with self.lock:
            self.connection, self.started = connection, time.monotonic()

    def end(self) -> None:
        with self.lock:
            self.connection = None

    def interrupt(self) -> None:
        """Stop the statement that runs now, if it is still the tool's."""
        with self.lock:
            if self.connection is not None:
                with suppress(psycopg.Error):
                    self.connection.cancel_safe(timeout=2.0)


class Locals:
    """Threads for sync tools, ``size`` at most, each with a connection of its own.

    ``limit`` (seconds): then a tool's SQL is interrupted and its call fails.
    """

    def __init__(self, url: str, *, size: int, limit: float, timeout: float) -> None:
        self._url = url
        self._size = size
        self._limit = limit
        self._timeout = timeout
        self._threads: ThreadPoolExecutor | None = None
        self._own = threading.local()
        self._connections = set["Connection"]()
        self._jobs = set[Job]()
        self._stopping = set[asyncio.Future[None]]()
        self._texts = _Texts(b"", "", "", "")

    def open(self, place: Place) -> None:
        self._texts = _Texts.of(place, self._limit, self._timeout)
        self._threads = ThreadPoolExecutor(self._size, "gw-tool")
        self._own = threading.local()

    async def close(self) -> None:
        """Let running tools finish, within reason; a thread can't be stopped."""
        threads, self._threads = self._threads, None
        if threads is None:
            return
        threads.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(self._wind_up)

    @property
    def stuck(self) -> tuple[str, str, float] | None:
        """Tool, turn and seconds of the call that has overstayed its limit the longest."""
        late = [job for job in tuple(self._jobs) if job.seconds > self._limit]
        if not late:
            return None
        worst = max(late, key=lambda job: job.seconds)
        return worst.call.tool, worst.call.turn_id, worst.seconds

    async def run(self, fence: Fence, call: LocalCall) -> None:
        """Cancelled, it leaves a call that runs already to its end: its result commits."""
        if self._threads is None:
            raise StoreUnavailableError("the store is not open")
        loop = asyncio.get_running_loop()
        job = Job(call)
        context = contextvars.copy_context()
        work = loop.run_in_executor(self._threads, lambda: context.run(self._work, fence, job))
        timer = loop.call_later(self._limit, self._late, job)
        try:
            await work
        finally:
            if job.done or not job.running:
                timer.cancel()

    def _late(self, job: Job) -> None:
        if job.done or self._threads is None:
            return
        rest = self._limit - job.seconds
        loop = asyncio.get_running_loop()
        if rest > 0:
            loop.call_later(rest, self._late, job)
        else:
            stopping = loop.run_in_executor(None, job.interrupt)
            self._stopping.add(stopping)
            stopping.add_done_callback(self._stopping.discard)

    # -- in the thread -------------------------------------------------------------------------
    def _work(self, fence: Fence, job: Job) -> None:
        job.running = True
        self._jobs.add(job)
        try:
            for number in range(RERUNS):
                try:
                    return self._attempt(fence, job)
                except RerunError:
                    time.sleep(random.uniform(0, 0.01 * 2**number))  # noqa: S311
            raise StoreUnavailableError(f"the call lost {RERUNS} races for the same rows")
        finally:
            job.done = True
            self._jobs.discard(job)

    def _attempt(self, fence: Fence, job: Job) -> None:
        connection, transaction = self._enter(fence)
        try:
            self._run(connection, transaction, fence, job)
        except psycopg.Error as exc:
            raise translated(exc) from exc
        finally:
            job.end()
            self._leave_clean()

    def _run(self, connection: Connection, transaction: str, fence: Fence, job: Job) -> None:
        handle = PostgresHandle(connection, limit=self._limit)
        job.begin(connection)
        result, error = _outcome(job.call, handle)
        handle.close()
        job.end()
        self._say_if_slow(job)
        if handle.rerun:
            raise RerunError
        if job.seconds > self._limit:
            error = HandleError(too_long(self._limit))
        try:
            if error is None:
                error = self._trusted(connection, transaction)
            if error is not None:
                self._undo(connection, transaction)
        except psycopg.Error as exc:
            # The transaction is not what it was, or gone: nothing of it counts.
            error = self._lost(connection, job, error or exc)
            connection = self._restart(fence)
        if error is not None:
            result = None
        writes = job.call.settle(result, error)
        self._apply(connection, fence, writes)

    def _enter(self, fence: Fence) -> tuple[Connection, str]:
        """Begin under the fence. A connection that died while idle is replaced, once."""
        text = self._texts.enter(fence)
        try:
            connection = self._connection()
            try:
                cursor = connection.execute(text)
            except psycopg.OperationalError:
                if not connection.closed:
                    raise
                connection = self._connection()
                cursor = connection.execute(text)
        except psycopg.Error as exc:
            self._leave_clean()
            raise translated(exc) from exc
        found = _rows(cursor)
        if len(found) < 2:
            self._leave_clean()
            raise StaleAttemptError
        return connection, str(found[1][0])

    def _trusted(self, connection: Connection, transaction: str) -> BaseException | None:
        """``None`` if the tool left role and transaction as they were; the role is reset then."""
        try:
            connection.execute(self._texts.leave(transaction))
        except psycopg.Error as exc:
            if connection.closed or sqlstate(exc) in RERUN:
                raise
            if isinstance(exc, psycopg.IntegrityError):
                return exc  # a constraint that was deferred
            return HandleError("the tool left its role or its transaction; nothing it wrote counts")
        return None

    def _undo(self, connection: Connection, transaction: str) -> None:
        connection.execute(self._texts.back(transaction))

    def _lost(self, connection: Connection, job: Job, error: BaseException) -> BaseException:
        if sqlstate(error) in RERUN:
            raise RerunError from error
        if not connection.closed:
            return error
        if job.seconds < self._limit * IDLE:
            raise StoreUnavailableError("the connection was lost while a tool ran") from error
        return HandleError(too_long(self._limit))

    def _restart(self, fence: Fence) -> Connection:
        self._leave_clean()
        connection = self._connection()
        cursor = connection.execute(self._texts.begin(fence))
        if not _rows(cursor):
            raise StaleAttemptError
        return connection

    @staticmethod
    def _apply(connection: Connection, fence: Fence, writes: Writes) -> None:
        statement = held(fence.session, writes)
        cursor = psycopg.RawCursor(connection)
        cursor.execute(statement.sql.encode(), statement.arguments, prepare=True)
        if connection.execute(b"COMMIT").statusmessage != "COMMIT":
            raise StoreUnavailableError("the server rolled the call back")

    def _connection(self) -> Connection:
        """This thread's connection."""
        own: Connection | None = getattr(self._own, "connection", None)
        if own is None or own.closed:
            if own is not None:
                self._connections.discard(own)
            own = psycopg.connect(
                self._url, autocommit=True, connect_timeout=max(2, int(self._timeout))
            )
            own.execute(self._texts.settings)
            self._own.connection = own
            self._connections.add(own)
        return own

    def _leave_clean(self) -> None:
        """Whatever happened, the thread's connection is outside any transaction, or closed."""
        own: Connection | None = getattr(self._own, "connection", None)
        if own is None or own.closed or own.info.transaction_status is _IDLE:
            return
        try:
            own.execute(b"ROLLBACK")
        except psycopg.Error:
            own.close()

    def _wind_up(self) -> None:
        """Close the connections, but none under a thread that still waits on it."""
        deadline = time.monotonic() + CLOSE_WITHIN
        while self._jobs and time.monotonic() < deadline:
            time.sleep(0.005)
        for connection in tuple(self._connections):
            if connection.info.transaction_status is _IDLE or connection.closed:
                self._connections.discard(connection)
                connection.close()

    def _say_if_slow(self, job: Job) -> None:
        if job.seconds > SLOW:
            log.warning(
                "sync tool %s held its session's row for %.0f ms: it should only touch the store",
                job.call.tool,
                job.seconds * 1000,
                extra={"turn": job.call.turn_id},
            )


_IDLE = psycopg.pq.TransactionStatus.IDLE


def _outcome(call: LocalCall, handle: PostgresHandle) -> tuple[object, BaseException | None]:
    try:
        return call.run(handle), None
    except BaseException as exc:  # noqa: BLE001 - whatever a tool raises is its result
        return None, exc


def _rows(cursor: psycopg.Cursor[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """What the statements of a script answered, one after the other."""
    found: list[tuple[Any, ...]] = []
    more: bool | None = True
    while more:
        if cursor.description is not None:
            found += cursor.fetchall()
        more = cursor.nextset()
    return found


@dataclass(frozen=True, slots=True)
class _Texts:
    """The statements around a tool, as scripts: one round trip each."""

    settings: bytes
    role: str
    into: str
    out: str

    @classmethod
    def of(cls, place: Place, limit: float, timeout: float) -> _Texts:
        own, tools = int(timeout * 1000), int(limit * 1000)
        settings = (
            "SET application_name = 'june-gateway tools'; SET search_path = pg_catalog, pg_temp;"
            f" SET statement_timeout = {own}; SET tcp_user_timeout = {own};"
            f" SET idle_in_transaction_session_timeout = {tools * IDLE};"
            " SET standard_conforming_strings = on;"
            " SET default_transaction_isolation = 'read committed'"
        )
        # What a tool leaves in pg_temp is dropped before the next call, and hides no table before.
        path = f"{place.search_path}, pg_temp" if place.search_path else "pg_temp"
        into = _set_locally(
            ("role", place.role), ("search_path", path), ("statement_timeout", tools)
        )
        out = _set_locally(
            ("role", "none"), ("search_path", "pg_catalog, pg_temp"), ("statement_timeout", own)
        )
        return cls(settings.encode(), literal(place.role), into, out)

    def begin(self, fence: Fence) -> bytes:
        """Answers one row if the fence holds, else none."""
        session, epoch = int(fence.session), int(fence.epoch)
        return (
            "DISCARD TEMP; BEGIN; SELECT 1 FROM gw.sessions"
            f" WHERE id = {session} AND epoch = {epoch} FOR NO KEY UPDATE"
        ).encode()

    def enter(self, fence: Fence) -> bytes:
        """Answers a second row with the transaction's number."""
        return (
            self.begin(fence)
            + (
                f"; SAVEPOINT gw_tool; SELECT pg_current_xact_id()::text, {self.into};"
                " SAVEPOINT gw_statement"
            ).encode()
        )

    def leave(self, transaction: str) -> bytes:
        return (
            f"SET CONSTRAINTS ALL IMMEDIATE; {_same(transaction, self.role)};"
            f" RELEASE SAVEPOINT gw_tool; SELECT {self.out}"
        ).encode()

    def back(self, transaction: str) -> bytes:
        """The savepoint is older than the tool's role, so this resets the role, too."""
        return f"ROLLBACK TO SAVEPOINT gw_tool; {_same(transaction, 'session_user')}".encode()


def _set_locally(*settings: tuple[str, object]) -> str:
    return ", ".join(
        f"pg_catalog.set_config({literal(name)}, {literal(str(value))}, true)"
        for name, value in settings
    )


def _same(transaction: str, user: str) -> str:
    """Fails unless transaction and user are these: only an error stops a script, and none of the
    engine's functions can be called by the tools' role, so it divides by zero."""
    return (
        f"SELECT 1 / CASE WHEN current_user = {user}"
        f" AND pg_current_xact_id_if_assigned()::text = {literal(transaction)} THEN 1 ELSE 0 END"
    )
