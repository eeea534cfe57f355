"""``PostgresStore``: the store that several hosts share. PostgreSQL is its only truth.

Locks are rows, always taken in the order session, mailbox, turns, and never the other way:

- an attempt's write (``commit``, the end of ``run_local``) locks the session's row and, only if it
  touches turns or the session, the mailbox;
- a decision with ``lock="session"`` locks both before it looks;
- a decision with ``lock="mailbox"`` locks the mailbox alone, so it never waits for a tool. If its
  plan turns out to write what an attempt writes, it is asked again under the session's lock.

All that changes a turn's state, a generation or a reset holds the mailbox, so either lock shows open
turns as they are. Claims and editions are written in key order. What deadlocks all the same (two
tools and the application's own transactions) is rerun whole.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar, cast

import asyncpg

from gateway.engine.errors import StaleAttemptError, StoreUnavailableError
from gateway.engine.kinds import Millis, SessionId, SessionRef
from gateway.engine.ports import StoreCapabilities
from gateway.engine.records import Ask, Fence, LocalCall, Plan, SessionView, Writes
from gateway.stores.postgres.faults import RerunError, checked_url, translated
from gateway.stores.postgres.lanes import Lanes
from gateway.stores.postgres.link import LOST, Connection, Link
from gateway.stores.postgres.local import RERUNS, Locals
from gateway.stores.postgres.reads import SQL, Reads, address, view_query
from gateway.stores.postgres.rows import Cells, view_from
from gateway.stores.postgres.schema import prepare
from gateway.stores.postgres.text import key, storable
from gateway.stores.postgres.writes import Statement, fenced, held

T = TypeVar("T")


class PostgresStore(Reads):
    """One database, shared by as many hosts as wanted.

    ``connections`` serve the engine and ``tools`` more, each with a thread, serve sync tools: plan
    for their sum, per host, in the server's ``max_connections``. ``timeout`` bounds every wait for
    the server, ``tool_limit`` how long a sync tool may hold its
    session's row; both in seconds.
    """

    def __init__(
        self,
        url: str,
        *,
        lease: Millis = Millis(30_000),
        connections: int = 16,
        tools: int = 8,
        timeout: float = 20.0,
        tool_limit: float = 5.0,
    ) -> None:
        self.seam_version = 1
        self.dialect = "postgresql"
        self.capabilities = StoreCapabilities(rollback=True, durable=True, handle=True, shared=True)
        self._url = checked_url(url)
        self._timeout = timeout
        self._link = Link(url, size=connections, timeout=timeout)
        self._lanes = Lanes(self._link)
        self._locals = Locals(url, size=tools, limit=tool_limit, timeout=timeout)
        super().__init__(self._link, lease)

    async def open(self) -> None:
        """Migrate the schema if it is older, while other hosts that start at the same time wait."""
        try:
            connection = await asyncpg.connect(
                self._url, timeout=self._timeout, command_timeout=self._timeout * 3
            )
        except (asyncpg.PostgresError, *LOST) as exc:
            raise translated(exc) from exc
        try:
            place = await prepare(connection)
        finally:
            await connection.close(timeout=self._timeout)
        self._link.open()
        self._locals.open(place)

    async def close(self) -> None:
        await self._locals.close()
        await self._link.close()

    @property
    def stuck(self) -> tuple[str, str, float] | None:
        """Tool, turn and seconds of the sync tool that has overstayed its limit the longest."""
        return self._locals.stuck

    # -- writes --------------------------------------------------------------------------------
    async def amend(self, ref: SessionRef, ask: Ask, decide: Callable[[SessionView], Plan[T]]) -> T:
        where = address(ref)
        for number in range(RERUNS):
            try:
                return await self._amend(where, ask, decide)
            except _NeedsSessionError:
                ask = replace(ask, lock="session")
            except RerunError:
                await _pause(number)
            except _DecisionError as exc:
                raise exc.cause from exc.cause.__cause__
        raise _beaten()

    async def _amend(
        self, where: tuple[str, str], ask: Ask, decide: Callable[[SessionView], Plan[T]]
    ) -> T:
        async with self._link.transaction() as connection:
            session = await _lock(connection, where, ask)
            view = await self._view(connection, session, ask)
            try:
                plan = decide(view)
            except Exception as exc:
                raise _DecisionError(exc) from exc
            statement = _planned(session, ask, plan.writes)
            if statement is not None:
                await connection.fetchval(statement.sql, *statement.arguments)
            return plan.result

    async def _view(
        self, connection: Connection, session: SessionId | None, ask: Ask
    ) -> SessionView:
        if session is None:
            return SessionView(session=None)
        shape = Ask(
            turn_id=None if ask.turn_id is None else "",
            head=ask.head,
            tail=ask.tail,
            request=None if ask.request is None else "",
        )
        sql, wanted = view_query(shape)
        values = [storable(getattr(ask, name)) for name in wanted]
        (row,) = await connection.fetch(sql, self.lease, session, *values)
        return view_from(cast("Cells", row))

    async def commit(self, fence: Fence, writes: Writes) -> None:
        statement = fenced(fence, _checked(writes))
        if statement.grouped and await self._lanes.write(statement.grouped, statement.arguments):
            return
        for number in range(RERUNS):
            try:
                written = await self._link.fetchval(statement.sql, *statement.arguments)
            except RerunError:
                await _pause(number)
                continue
            if not written:
                raise StaleAttemptError
            return
        raise _beaten()

    async def run_local(self, fence: Fence, call: LocalCall) -> None:
        await self._locals.run(fence, call)

    async def beat(self, owner: str) -> None:
        await self._link.fetchval(SQL["beat"], storable(owner))


class _NeedsSessionError(Exception):
    """A plan made under the mailbox lock writes what the session's lock guards."""


class _DecisionError(Exception):
    """Carries what ``decide`` raised past the driver's own errors."""

    def __init__(self, cause: Exception) -> None:
        super().__init__()
        self.cause = cause


async def _lock(connection: Connection, where: tuple[str, str], ask: Ask) -> SessionId | None:
    lock = SQL["lock_session" if ask.lock == "session" else "lock_mailbox"]
    found = await connection.fetchval(lock, *where)
    if found is None and ask.create:
        await connection.execute(SQL["create_session"], *where)
        found = await connection.fetchval(lock, *where)
    return None if found is None else SessionId(found)


def _planned(session: SessionId | None, ask: Ask, writes: Writes) -> Statement | None:
    if writes == Writes():
        return None
    if ask.lock == "mailbox" and (
        writes.session or writes.messages or writes.steps or writes.usage or writes.events
        or writes.turns or writes.requests or writes.votes
    ):  # fmt: skip
        raise _NeedsSessionError
    return held(session, _checked(writes))


def _checked(writes: Writes) -> Writes:
    if writes.new_turn is not None:
        key(writes.new_turn.turn_id, "a turn id")
    return writes


async def _pause(number: int) -> None:
    await asyncio.sleep(random.uniform(0, 0.01 * 2**number))  # noqa: S311 - spread, not secrecy


def _beaten() -> StoreUnavailableError:
    return StoreUnavailableError(f"a write lost {RERUNS} races for the same rows", fix="try again")
