"""The engine's connections: a few asyncpg connections, each used by one caller at a time.

asyncpg's own pool sends a reset after every use, a round trip that a checkpoint doesn't need: what
runs here leaves nothing behind but a transaction, and the link ends that itself.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias, cast

import asyncpg

from gateway.engine.errors import StoreUnavailableError
from gateway.stores.postgres.faults import RerunError, translated
from gateway.stores.postgres.rows import Cells

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

LOST = (asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)
"""What the driver raises about a connection that can't be used any more."""
DEAD = (
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    ConnectionError,
)
"""The same, of a connection that was cut and not merely slow."""

CLOSE_WITHIN = 5.0
END_WITHIN = 2.0
GRACE = 5.0
WATCH_EVERY = 0.25
IDLE_WITHIN = 10.0
"""Seconds after which the server takes the locks of a transaction from a process that says nothing."""
RERUNS = 5
"""How often a transaction that lost a race is made again."""
STATEMENTS = 512
"""Prepared statements kept per connection: more than there are shapes of writes and views."""


class Link:
    """``size`` connections to one server, made when they are needed.

    ``timeout`` (seconds) bounds every wait: for a free connection, a lock, an answer.
    """

    def __init__(self, url: str, *, size: int, timeout: float) -> None:
        self._url = url
        self._size = size
        self._timeout = timeout
        self._open = False
        self._idle: list[Connection] = []
        self._lent: dict[Connection, float] = {}
        self._making: set[asyncio.Task[Connection]] = set()
        self._total = 0
        """Connections that are, or are being made."""
        self._waiting: dict[asyncio.Future[Connection | None], float] = {}
        self._watching: asyncio.TimerHandle | None = None

    def open(self) -> None:
        self._open, self._total = True, 0
        if self._watching is None:
            self._watch()

    async def close(self) -> None:
        """Close what is idle; what is in use is closed when it comes back, or cut off."""
        if not self._open:
            return
        self._open = False
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None
        async with asyncio.TaskGroup() as farewells:
            for connection in self._idle:
                self._total -= 1
                farewells.create_task(_farewell(connection))
        self._idle.clear()
        loop = asyncio.get_running_loop()
        until = loop.time() + CLOSE_WITHIN
        while self._total and (rest := until - loop.time()) > 0:
            given: asyncio.Future[Connection | None] = loop.create_future()
            self._waiting[given] = loop.time()
            await asyncio.wait({given}, timeout=rest)
        for connection in self._lent:
            connection.terminate()
        self._total = 0

    async def fetch(self, sql: str, *arguments: object) -> list[Cells]:
        """Read. After a restart of the server an idle connection may turn out to be dead only when
        it is used; reading twice harms nobody, so the reader isn't told."""
        try:
            return await self._fetch(sql, arguments)
        except StoreUnavailableError as exc:
            if not isinstance(exc.__cause__, DEAD):
                raise
            return await self._fetch(sql, arguments)

    async def fetchrow(self, sql: str, *arguments: object) -> Cells | None:
        rows = await self.fetch(sql, *arguments)
        return rows[0] if rows else None

    async def _fetch(self, sql: str, arguments: tuple[object, ...]) -> list[Cells]:
        async with self.use() as connection:
            return cast("list[Cells]", await connection.fetch(sql, *arguments))

    async def fetchval(self, sql: str, *arguments: object) -> object:
        # Every checkpoint comes through here: what ``use`` does, without its generator.
        connection = self._ready() or await self._take()
        try:
            return await connection.fetchval(sql, *arguments)
        except BaseException as exc:
            error = await self._failed(connection, exc)
            if error is exc:
                raise
            raise error from exc
        finally:
            self._give(connection)

    async def fetchmany(self, sql: str, rows: Sequence[Sequence[object]]) -> list[Cells]:
        """One statement for many, as one pipeline in one transaction."""
        async with self.use() as connection:
            return cast("list[Cells]", await connection.fetchmany(sql, rows))

    async def write(self, sql: str, *arguments: object) -> list[Cells]:
        """A write that is one statement: made again when it loses a race."""
        for number in range(RERUNS):
            try:
                return await self._fetch(sql, arguments)
            except RerunError:
                await pause(number)
        raise beaten()

    @asynccontextmanager
    async def use(self) -> AsyncGenerator[Connection, None]:
        """A connection outside any transaction. The driver's errors come out as the engine's."""
        connection = self._ready() or await self._take()
        try:
            yield connection
        except BaseException as exc:
            error = await self._failed(connection, exc)
            if error is exc:
                raise
            raise error from exc
        finally:
            self._give(connection)

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Connection, None]:
        """The same inside a transaction: committed at the end, rolled back by any error."""
        async with self.use() as connection:
            await connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
            yield connection
            await connection.execute("COMMIT")

    # -- lending -------------------------------------------------------------------------------
    def _ready(self) -> Connection | None:
        while self._idle and self._open:
            connection = self._idle.pop()
            if not connection.is_closed():
                self._lent[connection] = asyncio.get_running_loop().time()
                return connection
            self._total -= 1
        return None

    async def _take(self) -> Connection:
        if not self._open:
            raise StoreUnavailableError("the store is not open")
        if self._total < self._size:
            self._total += 1
            connection = await self._connect()
        else:
            connection = await self._wait() or await self._connect()
        self._lent[connection] = asyncio.get_running_loop().time()
        return connection

    async def _wait(self) -> Connection | None:
        """The connection that somebody gives back, or ``None``: the place of one that was closed."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[Connection | None] = loop.create_future()
        self._waiting[waiter] = loop.time()
        try:
            given = await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._pass_on(waiter.result())
            raise
        finally:
            self._waiting.pop(waiter, None)
        if not self._open:
            raise StoreUnavailableError("the store was closed")
        return given

    def _give(self, connection: Connection) -> None:
        self._lent.pop(connection, None)
        if not self._open:
            connection.terminate()
        self._pass_on(None if connection.is_closed() else connection)

    def _pass_on(self, connection: Connection | None) -> None:
        """To who waits longest; else a connection lies idle, and the place of one is free."""
        while self._waiting:
            waiter = next(iter(self._waiting))
            del self._waiting[waiter]
            if not waiter.done():
                waiter.set_result(connection)
                if self._open:
                    return
        if connection is None:
            self._total -= 1
        else:
            self._idle.append(connection)

    def _watch(self) -> None:
        """End the waits that are too long: for a free connection, and for an answer that the server
        itself would have cut short, so that it will never come. One timer for all, because one per
        statement costs more than the statement's text."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        for waiter, since in self._waiting.items():
            if now - since > self._timeout and not waiter.done():
                waiter.set_exception(
                    StoreUnavailableError(
                        f"all {self._size} database connections are busy since {self._timeout:g} s",
                        fix="look for a long transaction in pg_stat_activity",
                    )
                )
        for connection, since in tuple(self._lent.items()):
            if now - since > self._timeout + GRACE:
                connection.terminate()
        self._watching = loop.call_later(WATCH_EVERY, self._watch)

    async def _failed(self, connection: Connection, exc: BaseException) -> BaseException:
        """Leave no transaction behind, and say what the error is to the engine. After a cancellation
        the driver first has to stop the statement, and only then knows where the server stands:
        hence a ``ROLLBACK`` in any case."""
        if isinstance(exc, LOST):
            connection.terminate()
            return translated(exc)
        if connection.is_in_transaction() or not isinstance(exc, Exception):
            try:
                async with asyncio.timeout(END_WITHIN):
                    await connection.execute("ROLLBACK")
            except (asyncpg.PostgresError, *LOST):
                connection.terminate()
            except BaseException:
                connection.terminate()
                raise
        return translated(exc) if isinstance(exc, asyncpg.PostgresError) else exc

    # -- making --------------------------------------------------------------------------------
    async def _connect(self) -> Connection:
        """Made in a task of the link's own: the driver can't be cancelled cleanly half-way into a
        handshake, so a caller that goes leaves the connection to the next."""
        making = asyncio.get_running_loop().create_task(connect(self._url, self._timeout))
        self._making.add(making)
        making.add_done_callback(self._making.discard)
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            making.add_done_callback(self._keep)
            raise
        except (asyncpg.PostgresError, *LOST) as exc:
            self._pass_on(None)
            raise translated(exc) from exc
        except Exception:
            self._pass_on(None)
            raise

    def _keep(self, made: asyncio.Task[Connection]) -> None:
        if made.cancelled() or made.exception() is not None:
            self._pass_on(None)
        else:
            self._give(made.result())


async def connect(url: str, timeout: float) -> Connection:
    """One connection that speaks for the engine.

    Nothing but the engine's own schema is looked up without its name, so that no object made by a
    tool is ever taken for one of PostgreSQL's. The server ends what hangs: a statement after
    ``timeout``, a transaction whose process was frozen, a connection whose other end is gone.
    """
    milliseconds = str(int(timeout * 1000))
    return await asyncpg.connect(
        url,
        timeout=timeout,
        statement_cache_size=STATEMENTS,
        max_cached_statement_lifetime=0,
        server_settings={
            "application_name": "june-gateway",
            "search_path": "pg_catalog, pg_temp",
            "statement_timeout": milliseconds,
            "idle_in_transaction_session_timeout": str(int(IDLE_WITHIN * 1000)),
            "tcp_user_timeout": milliseconds,
            # Every statement finds its rows by key, so one plan serves all values, and a table that
            # is small when the plan is made may be large before it is made anew.
            "plan_cache_mode": "force_generic_plan",
            "enable_seqscan": "off",
            "default_transaction_isolation": "read committed",
        },
    )


async def _farewell(connection: Connection) -> None:
    with suppress(asyncpg.PostgresError, *LOST):
        await connection.close(timeout=CLOSE_WITHIN)


async def pause(number: int) -> None:
    """Before the transaction is made again, longer each time."""
    await asyncio.sleep(random.uniform(0, 0.01 * 2**number))  # noqa: S311 - spread, not secrecy


def beaten() -> StoreUnavailableError:
    return StoreUnavailableError(f"a write lost {RERUNS} races for the same rows", fix="try again")
