"""Sync tools: the tool's writes, its checkpoint and its transcript in one transaction.

A tool needs a synchronous handle, so it runs in a thread with a psycopg connection of that thread.
What the transaction is made of, in order::

    BEGIN, the fence under the session's row     a stale attempt ends here, the tool never ran
    the tools' role, SAVEPOINT gw_tool
    the tool                                     each further statement behind a savepoint
    same transaction and role still? role back   else everything is rolled back: the tool's error
    the settlement, COMMIT

What stands before the tool is one script, and so is what stands behind it: three round trips for a
tool with one statement.

The lock on the session's row is held while the tool runs: its own session waits, nobody else does.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import random
import threading
import time
from collections.abc import Callable
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
from gateway.stores.postgres.link import RERUNS
from gateway.stores.postgres.schema import Place
from gateway.stores.postgres.scripts import Scripts
from gateway.stores.postgres.writes import Argument, Statement, held

log = logging.getLogger(__name__)

SLOW = 0.025
IDLE_TIMEOUT = "25P03"
LEFT = frozenset({"22012", "25P01", "25P02", "3B001"})
"""How the script at a tool's end fails when the tool was not where it should be: the division of
``Scripts.leave``, no transaction, a failed one, no savepoint."""
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
        self._scripts = Scripts(b"", "", "", "")

    def open(self, place: Place) -> None:
        self._scripts = Scripts.of(place, self._limit, self._timeout)
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
        self._own.tidy = handle.temporary
        self._say_if_slow(job)
        if handle.rerun:
            raise RerunError
        if job.seconds > self._limit:
            error = HandleError(too_long(self._limit))
        text = (
            self._scripts.leave(transaction) if error is None else self._scripts.back(transaction)
        )
        try:
            writes = job.call.settle(result if error is None else None, error)
            self._finish(connection, text, fence, writes)
        except psycopg.Error as exc:
            # Nothing of the tool's transaction counts; what it did wrong is recorded in a new one.
            error = self._blame(connection, exc, error)
            connection = self._restart(fence)
            self._finish(connection, b"", fence, job.call.settle(None, error))

    def _enter(self, fence: Fence) -> tuple[Connection, str]:
        """Begin under the fence. A connection that died while idle is replaced, once."""
        try:
            connection = self._connection()
            try:
                found = self._entered(connection, fence)
            except psycopg.OperationalError:
                if not connection.closed:
                    raise
                connection = self._connection()
                found = self._entered(connection, fence)
        except psycopg.Error as exc:
            self._leave_clean()
            raise translated(exc) from exc
        if len(found) < 2:  # the number, and what the role's settings answer
            self._leave_clean()
            raise StaleAttemptError
        return connection, str(found[0][0])

    def _entered(self, connection: Connection, fence: Fence) -> list[tuple[Any, ...]]:
        tidy, self._own.tidy = self._own.tidy, False
        return _rows(connection.execute(self._scripts.enter(fence, tidy=tidy)))

    def _finish(self, connection: Connection, text: bytes, fence: Fence, writes: Writes) -> None:
        """Check the tool, write, commit: one script, of which an error leaves nothing."""
        statement = held(fence.session, writes)
        write = self._executed(connection, statement)
        if write is None:
            if text:
                connection.execute(text)
                text = b""
            write = self._prepared(connection, statement)
        cursor = connection.execute(b"; ".join(part for part in (text, write, b"COMMIT") if part))
        while cursor.nextset():
            pass
        if cursor.statusmessage != "COMMIT":
            raise StoreUnavailableError("the server rolled the call back")

    def _executed(self, connection: Connection, statement: Statement) -> bytes | None:
        """The write as a statement with its values in it, if this connection has it prepared."""
        name = self._own.prepared.get(statement.sql)
        if name is None or any(isinstance(value, list) for value in statement.arguments):
            return None
        escape = psycopg.pq.Escaping(connection.pgconn).escape_literal
        values = b", ".join([_written(escape, value) for value in statement.arguments])
        return b"EXECUTE %s (%s)" % (name, values)

    def _prepared(self, connection: Connection, statement: Statement) -> bytes:
        """The same the first time; what has lists in it is written at once, apart from the script."""
        if any(isinstance(value, list) for value in statement.arguments):
            cursor = psycopg.RawCursor(connection)
            cursor.execute(statement.sql.encode(), statement.arguments)
            return b""
        name = b"gw_write_%d" % len(self._own.prepared)
        connection.execute(b"PREPARE %s AS %s" % (name, statement.sql.encode()))
        self._own.prepared[statement.sql] = name
        return self._executed(connection, statement) or b""

    def _blame(
        self, connection: Connection, exc: psycopg.Error, error: BaseException | None
    ) -> BaseException:
        """The tool's error, if it was the tool that made the end fail."""
        state = sqlstate(exc) or ""
        if state == IDLE_TIMEOUT:
            return HandleError(too_long(self._limit))
        if connection.closed or state in RERUN or state.startswith("GW"):
            raise translated(exc) from exc
        if state.startswith("23") and exc.diag.schema_name == "gw":
            raise translated(exc) from exc
        if error is not None:
            return error
        if state in LEFT:
            return HandleError("the tool left its role or its transaction; nothing it wrote counts")
        return exc

    def _restart(self, fence: Fence) -> Connection:
        self._leave_clean()
        connection = self._connection()
        if not _rows(connection.execute(self._scripts.begin(fence))):
            raise StaleAttemptError
        return connection

    def _connection(self) -> Connection:
        """This thread's connection."""
        own: Connection | None = getattr(self._own, "connection", None)
        if own is None or own.closed:
            if own is not None:
                self._connections.discard(own)
            own = self._made()
            self._own.connection, self._own.prepared, self._own.tidy = own, {}, False
            self._connections.add(own)
        return own

    def _made(self) -> Connection:
        made = psycopg.connect(
            self._url,
            autocommit=True,
            connect_timeout=max(2, int(self._timeout)),
            # The driver throws away what it prepared, and all else, at every rollback.
            prepare_threshold=None,
        )
        try:
            made.execute(self._scripts.settings)
        except BaseException:
            made.close()
            raise
        return made

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


def _written(escape: Callable[[bytes], bytes], value: Argument) -> bytes:
    match value:
        case None:
            return b"NULL"
        case bool():
            return b"true" if value else b"false"
        case int():
            return b"%d" % value
        case str():
            return escape(value.encode())
        case list():
            raise TypeError("a list is no literal")


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
