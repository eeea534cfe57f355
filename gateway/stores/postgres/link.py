"""The engine's connections: a few asyncpg connections, each used by one caller at a time.

asyncpg's own pool sends a reset after every use, a round trip that a checkpoint doesn't need: what
runs here leaves nothing behind but a transaction, and the link ends that itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias, cast

import asyncpg

from gateway.engine.errors import StoreUnavailableError
from gateway.stores.postgres.faults import translated
from gateway.stores.postgres.rows import Cells

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

LOST = (asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)
"""What the driver raises about a connection that can't be used any more."""

CLOSE_WITHIN = 5.0
END_WITHIN = 2.0
IDLE_WITHIN = 10.0
"""Seconds after which the server takes the locks of a transaction from a process that says nothing."""
STATEMENTS = 512
"""Prepared statements kept per connection: more than there are shapes of writes and views."""


class Link:
    """``size`` connections to one server, made when they are needed.

    ``timeout`` (seconds) bounds every wait: for a free connection, a lock, an answer.
    """

    def __init__(self, url: str, *, size: int, timeout: float) -> None:
        self._url = url
        self._timeout = timeout
        self._free = asyncio.Semaphore(size)
        self._size = size
        self._idle: list[Connection] = []
        self._lent: set[Connection] = set()
        self._making: set[asyncio.Task[Connection]] = set()
        self._open = False

    def open(self) -> None:
        self._free = asyncio.Semaphore(self._size)
        self._open = True

    async def close(self) -> None:
        """Close what is idle; what is in use is closed when it comes back, or cut off."""
        if not self._open:
            return
        self._open = False
        idle, self._idle = self._idle, []
        for connection in idle:
            await _farewell(connection)
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_WITHIN):
                for _ in range(self._size):
                    await self._free.acquire()
        for connection in self._lent:
            connection.terminate()
        if self._making:
            await asyncio.wait(self._making, timeout=CLOSE_WITHIN)

    async def fetch(self, sql: str, *arguments: object) -> list[Cells]:
        async with self.use() as connection:
            return cast("list[Cells]", await connection.fetch(sql, *arguments))

    async def fetchrow(self, sql: str, *arguments: object) -> Cells | None:
        async with self.use() as connection:
            return cast("Cells | None", await connection.fetchrow(sql, *arguments))

    async def fetchval(self, sql: str, *arguments: object) -> object:
        async with self.use() as connection:
            return await connection.fetchval(sql, *arguments)

    @asynccontextmanager
    async def use(self) -> AsyncGenerator[Connection, None]:
        """A connection outside any transaction. The driver's errors come out as the engine's."""
        connection = await self._take()
        try:
            yield connection
        except asyncpg.PostgresError as exc:
            await self._end(connection, cancelled=False)
            raise translated(exc) from exc
        except LOST as exc:
            connection.terminate()
            raise translated(exc) from exc
        except BaseException as exc:
            await self._end(connection, cancelled=not isinstance(exc, Exception))
            raise
        finally:
            self._give(connection)

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Connection, None]:
        """The same inside a transaction: committed at the end, rolled back by any error."""
        async with self.use() as connection:
            await connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
            yield connection
            await connection.execute("COMMIT")

    async def _take(self) -> Connection:
        if not self._open:
            raise StoreUnavailableError("the store is not open")
        await self._slot()
        try:
            connection = self._spare() or await self._connect()
        except BaseException:
            self._free.release()
            raise
        self._lent.add(connection)
        return connection

    def _spare(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        return None

    async def _slot(self) -> None:
        if not self._free.locked():
            await self._free.acquire()
            return
        try:
            async with asyncio.timeout(self._timeout):
                await self._free.acquire()
        except TimeoutError:
            raise StoreUnavailableError(
                f"all {self._size} database connections were busy for {self._timeout:g} s",
                fix="look for a long transaction in pg_stat_activity",
            ) from None

    def _give(self, connection: Connection) -> None:
        self._lent.discard(connection)
        if not self._open:
            connection.terminate()
        elif not connection.is_closed():
            self._idle.append(connection)
        self._free.release()

    async def _end(self, connection: Connection, *, cancelled: bool) -> None:
        """Leave no transaction behind. After a cancellation the driver first has to stop the
        statement, and only then knows where the server stands: hence the ``ROLLBACK`` in any case."""
        if not (cancelled or connection.is_in_transaction()):
            return
        try:
            async with asyncio.timeout(END_WITHIN):
                await connection.execute("ROLLBACK")
        except (asyncpg.PostgresError, *LOST):
            connection.terminate()
        except BaseException:
            connection.terminate()
            raise

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
            raise translated(exc) from exc

    def _keep(self, made: asyncio.Task[Connection]) -> None:
        if made.cancelled() or made.exception() is not None:
            return
        if self._open and len(self._idle) + len(self._lent) < self._size:
            self._idle.append(made.result())
        else:
            made.result().terminate()


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
        command_timeout=timeout + 5,
        statement_cache_size=STATEMENTS,
        max_cached_statement_lifetime=0,
        server_settings={
            "application_name": "june-gateway",
            "search_path": "pg_catalog, pg_temp",
            "statement_timeout": milliseconds,
            "idle_in_transaction_session_timeout": str(int(IDLE_WITHIN * 1000)),
            "tcp_user_timeout": milliseconds,
            # Every statement finds its rows by key, so one plan serves all values.
            "plan_cache_mode": "force_generic_plan",
            "default_transaction_isolation": "read committed",
        },
    )


async def _farewell(connection: Connection) -> None:
    with suppress(asyncpg.PostgresError, *LOST):
        await connection.close(timeout=CLOSE_WITHIN)
