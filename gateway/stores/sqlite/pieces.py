"""The work that goes to the writer: decide, commit, run a sync tool, beat."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Any

from typing_extensions import override

from gateway.engine.kinds import Millis, SessionRef
from gateway.engine.records import Ask, Fence, LocalCall, Plan, SessionView, Writes
from gateway.stores.sqlite.apply import apply, check_fence
from gateway.stores.sqlite.batch import Batch, joins
from gateway.stores.sqlite.faults import is_outage
from gateway.stores.sqlite.guard import Guard
from gateway.stores.sqlite.rows import SQL
from gateway.stores.sqlite.view import look


class _Piece:
    """What most pieces have in common: they share groups and are never asked for a second run."""

    __slots__ = ("future",)

    plain = False

    def __init__(self, future: asyncio.Future[object]) -> None:
        self.future = future

    @property
    def apart(self) -> bool:
        return False

    def blame(self, error: BaseException) -> bool:
        del error
        return False

    def answered(self) -> None:
        pass


class CommitPiece(_Piece):
    """An attempt's checkpoint. It joins the group's batch; what can't is applied at once."""

    __slots__ = ("_batch", "_fence", "_writes", "plain")

    def __init__(
        self, future: asyncio.Future[object], fence: Fence, writes: Writes, batch: Batch
    ) -> None:
        super().__init__(future)
        self._fence = fence
        self._writes = writes
        self._batch = batch
        self.plain = joins(writes)

    def run(self, cursor: sqlite3.Cursor) -> object:
        check_fence(cursor, self._fence)
        _write(cursor, self._fence.session, self._writes, self._batch)
        return None


def _write(cursor: sqlite3.Cursor, session: int, writes: Writes, batch: Batch) -> None:
    if joins(writes):
        batch.take(session, writes)
        return
    if session in batch.sessions:
        batch.write(cursor)
    apply(cursor, session, writes)


class AmendPiece(_Piece):
    __slots__ = ("_ask", "_batch", "_decide", "_lease", "_ref")

    def __init__(
        self,
        future: asyncio.Future[object],
        ref: SessionRef,
        ask: Ask,
        decide: Callable[[SessionView], Plan[Any]],
        lease: Millis,
        batch: Batch,
    ) -> None:
        super().__init__(future)
        self._batch = batch
        self._ref = ref
        self._ask = ask
        self._decide = decide
        self._lease = lease

    def run(self, cursor: sqlite3.Cursor) -> object:
        view = look(cursor, self._ref, self._ask, self._lease, self._batch)
        plan = self._decide(view)
        apply(cursor, view.session.id if view.session else None, plan.writes)
        return plan.result


class BeatPiece(_Piece):
    __slots__ = ("_owner",)

    def __init__(self, future: asyncio.Future[object], owner: str) -> None:
        super().__init__(future)
        self._owner = owner

    def run(self, cursor: sqlite3.Cursor) -> object:
        cursor.execute(SQL["beat"], (self._owner,))
        return None


class LocalPiece(_Piece):
    """A sync tool's call. When it lost the transaction it runs once more without the tool, to write
    down what went wrong."""

    __slots__ = ("_batch", "_blamed", "_call", "_done", "_fence", "_guard")

    def __init__(
        self,
        future: asyncio.Future[object],
        fence: Fence,
        call: LocalCall,
        guard: Guard,
        done: Callable[[], None],
        batch: Batch,
    ) -> None:
        super().__init__(future)
        self._batch = batch
        self._fence = fence
        self._call = call
        self._guard = guard
        self._done = done
        self._blamed: BaseException | None = None

    @property
    @override
    def apart(self) -> bool:
        return self._guard.is_slow(self._call.tool)

    def run(self, cursor: sqlite3.Cursor) -> object:
        check_fence(cursor, self._fence)
        result: object = None
        error = self._blamed
        if error is None:
            result, error = self._guard.run(self._call)
            if error is not None:
                if not cursor.connection.in_transaction:
                    raise error
                cursor.execute("ROLLBACK TO piece")
        writes = self._call.settle(None if error else result, error)
        _write(cursor, self._fence.session, writes, self._batch)
        return None

    @override
    def blame(self, error: BaseException) -> bool:
        if self._blamed is not None or is_outage(error):
            return False
        self._blamed = error
        return True

    @override
    def answered(self) -> None:
        self._done()
