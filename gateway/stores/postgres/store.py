"""``PostgresStore``: the store that several hosts share. PostgreSQL is its only truth.

Locks are rows, always taken in the order session, mailbox, turns, and never the other way:

- an attempt's write (``commit``, the end of ``run_local``) locks the session's row and, if it
  changes what a decision is shown of turns or the session, the mailbox, whose ``version`` it raises;
- a decision (``amend``) is first made without a lock: one statement shows the view, and one writes
  the plan if nothing the view showed has changed since. With ``lock="mailbox"`` that statement
  compares the version and never waits for a tool. With ``lock="session"`` it waits for the attempt's
  write under way and compares what such writes leave behind (``gw.take``), also when there is
  nothing to write. Nothing is locked while Python thinks, so a frozen host holds nothing up;
- a decision that loses that race again and again is made under the locks themselves.

All that changes a turn's state, a generation or a reset raises the version, so either lock shows
open turns as they are. A plan made under the mailbox lock that writes what an attempt writes is made
again under the session's. Claims and editions are written in key order. What deadlocks all the same
(two tools, the application's own transactions) is rerun whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar, cast
from weakref import WeakValueDictionary

import asyncpg

from gateway.engine.errors import StaleAttemptError
from gateway.engine.kinds import Millis, SessionRef, TurnRow
from gateway.engine.ledger import Ledger
from gateway.engine.ports import StoreCapabilities
from gateway.engine.records import (
    NEW_TURN,
    NO_WRITES,
    Ask,
    Fence,
    LocalCall,
    Plan,
    SessionView,
    Writes,
)
from gateway.engine.struct import replace
from gateway.stores.postgres.faults import RerunError, checked_url, translated
from gateway.stores.postgres.lanes import Lanes
from gateway.stores.postgres.ledger.ledger import PostgresLedger
from gateway.stores.postgres.link import LOST, RERUNS, Connection, Link, beaten, pause
from gateway.stores.postgres.local import Locals
from gateway.stores.postgres.reads import SQL, Reads, address, view_query
from gateway.stores.postgres.rows import Cells, Look, look_from
from gateway.stores.postgres.schema import prepare
from gateway.stores.postgres.text import key, storable
from gateway.stores.postgres.writes import Statement, fenced, held, made, taken, unchanged

T = TypeVar("T")

HOPES = 3
"""How often a decision is made without a lock before it is made under one."""


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
        self.seam_version = 2
        self.dialect = "postgresql"
        self.capabilities = StoreCapabilities(rollback=True, durable=True, handle=True, shared=True)
        self._url = checked_url(url)
        self._timeout = timeout
        self._link = Link(url, size=connections, timeout=timeout)
        self._lanes = Lanes(self._link)
        self.ledger: Ledger = PostgresLedger(self._link)
        self._turnstile = _Turnstile()
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
        address(ref)
        for number in range(RERUNS):
            try:
                async with self._turnstile.one(ref, ask.lock):
                    for _ in range(HOPES):
                        with suppress(_ChangedError):
                            return await self._hope(ref, ask, decide)
                    return await self._insist(ref, ask, decide)
            except _NeedsSessionError:
                ask = replace(ask, lock="session")
            except RerunError:
                await pause(number)
            except _DecisionError as exc:
                raise exc.cause from exc.cause.__cause__
        raise beaten()

    async def _hope(self, ref: SessionRef, ask: Ask, decide: Callable[[SessionView], Plan[T]]) -> T:
        sql, arguments = self._view(ref, ask)
        (row,) = await self._link.fetch(sql, *arguments)
        look = look_from(row, ref)
        plan = decide(look.view)
        statement = _planned(look, ask, plan.writes)
        if statement is not None:
            written = await self._link.fetchval(statement.sql, *statement.arguments)
            if not written:
                raise _ChangedError
        if plan.named is None:
            return plan.result
        return plan.named(plan.result, await self._row_of(ref, plan.writes))

    async def _insist(
        self, ref: SessionRef, ask: Ask, decide: Callable[[SessionView], Plan[T]]
    ) -> T:
        async with self._link.transaction() as connection:
            await _lock(connection, ref, ask)
            sql, arguments = self._view(ref, replace(ask, create=False))
            (row,) = await connection.fetch(sql, *arguments)
            view = look_from(cast("Cells", row), ref).view
            try:
                plan = decide(view)
            except Exception as exc:
                raise _DecisionError(exc) from exc
            if plan.writes != NO_WRITES:
                _check_lock(ask, plan.writes)
                session = view.session.id if view.session is not None else None
                statement = held(session, _checked(plan.writes))
                await connection.fetchval(statement.sql, *statement.arguments)
        if plan.named is None:
            return plan.result
        return plan.named(plan.result, await self._row_of(ref, plan.writes))

    async def _row_of(self, ref: SessionRef, writes: Writes) -> TurnRow:
        """The number that a new turn got."""
        turn = writes.new_turn
        found = None if turn is None else await self.turn(ref, turn.turn_id)
        return NEW_TURN if found is None else found.row

    def _view(self, ref: SessionRef, ask: Ask) -> tuple[str, list[object]]:
        shape = Ask(
            turn_id=None if ask.turn_id is None else "",
            head=ask.head,
            tail=ask.tail,
            request=None if ask.request is None else "",
        )
        sql, wanted = view_query(shape)
        values = [storable(getattr(ask, name)) for name in wanted]
        return sql, [self.lease, *address(ref), ask.create, *values]

    async def commit(self, fence: Fence, writes: Writes) -> None:
        statement = fenced(fence, _checked(writes))
        if statement.grouped and await self._lanes.write(statement.grouped, statement.arguments):
            return
        for number in range(RERUNS):
            try:
                written = await self._link.fetchval(statement.sql, *statement.arguments)
            except RerunError:
                await pause(number)
                continue
            if not written:
                raise StaleAttemptError
            return
        raise beaten()

    async def run_local(self, fence: Fence, call: LocalCall) -> None:
        await self._locals.run(fence, call)

    async def beat(self, owner: str) -> None:
        await self._link.fetchval(SQL["beat"], storable(owner))


class _Turnstile:
    """One decision at a time per session and lock in this process: what would lose the race against
    its neighbours anyway waits here, without a connection. The two locks stay apart, because one
    waits for a tool and the other must not."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[tuple[SessionRef, str], asyncio.Lock] = (
            WeakValueDictionary()
        )

    @asynccontextmanager
    async def one(self, ref: SessionRef, kind: str) -> AsyncGenerator[None, None]:
        lock = self._locks.get((ref, kind))
        if lock is None:
            lock = self._locks[ref, kind] = asyncio.Lock()
        async with lock:
            yield


class _ChangedError(Exception):
    """What a decision was shown is no longer so; nothing was written."""


class _NeedsSessionError(Exception):
    """A plan made under the mailbox lock writes what the session's lock guards."""


class _DecisionError(Exception):
    """Carries what ``decide`` raised past the driver's own errors."""

    def __init__(self, cause: Exception) -> None:
        super().__init__()
        self.cause = cause


async def _lock(connection: Connection, ref: SessionRef, ask: Ask) -> None:
    lock = SQL["lock_session" if ask.lock == "session" else "lock_mailbox"]
    where = address(ref)
    if await connection.fetchval(lock, *where) is None and ask.create:
        await connection.execute(SQL["create_session"], *where)
        await connection.fetchval(lock, *where)


def _planned(look: Look, ask: Ask, writes: Writes) -> Statement | None:
    """The statement that writes a plan if nothing has changed, or checks just that."""
    session, nothing = look.view.session, writes == NO_WRITES
    _check_lock(ask, writes)
    _checked(writes)
    if session is None:
        return None if nothing else held(None, writes)
    if look.new:
        if writes.session is not None:
            raise _ChangedError  # a statement can't change the row that it inserts
        return made(session, writes)
    if nothing and not look.view.open:
        return None  # no turn, so no attempt whose write could be under way
    if ask.lock == "session":
        return taken(look.view, look.version, writes, steps=ask.tail)
    return None if nothing else unchanged(look.view, look.version, writes)


def _check_lock(ask: Ask, writes: Writes) -> None:
    if ask.lock == "mailbox" and (
        writes.session or writes.messages or writes.steps or writes.usage or writes.events
        or writes.turns or writes.opened or writes.requests or writes.votes
    ):  # fmt: skip
        raise _NeedsSessionError


def _checked(writes: Writes) -> Writes:
    if writes.new_turn is not None:
        key(writes.new_turn.turn_id, "a turn id")
    return writes
