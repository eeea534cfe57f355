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
from gateway.stores.sqlite.batch import Batch, Refused, joins
from gateway.stores.sqlite.faults import is_outage
from gateway.stores.sqlite.guard import Guard
from gateway.stores.sqlite.rows import SQL
from gateway.stores.sqlite.undo import Lost, Undo
from gateway.stores.sqlite.view import look


class WriterPiece:
    """What most pieces have in common: they share groups and are never asked for a second run."""

    __slots__ = ("future",)

    def __init__(self, future: asyncio.Future[object]) -> None:
        self.future = future

    @property
    def prompt(self) -> bool:
        return False

    @property
    def apart(self) -> bool:
        return False

    def run(self, cursor: sqlite3.Cursor) -> object:
        """Act, and leave nothing behind when that fails."""
        undo = Undo(cursor)
        try:
            result = self.act(cursor, undo)
        except Refused:
            raise
        except BaseException as exc:
            _end(undo, exc)
            raise
        if undo.marked:
            _end(undo, None)
        return result

    def act(self, cursor: sqlite3.Cursor, undo: Undo) -> object:
        raise NotImplementedError

    def blame(self, error: BaseException) -> bool:
        del error
        return False

    def answered(self) -> None:
        pass


def _end(undo: Undo, error: BaseException | None) -> None:
    try:
        undo.end(error)
    except sqlite3.Error as exc:
        raise Lost(error or exc) from exc


class CommitPiece(WriterPiece):
    """An attempt's checkpoint. It joins the group's batch, as far as it may."""

    __slots__ = ("_batch", "_fence", "_writes")

    def __init__(
        self, future: asyncio.Future[object], fence: Fence, writes: Writes, batch: Batch
    ) -> None:
        super().__init__(future)
        self._fence = fence
        self._writes = writes
        self._batch = batch

    @override
    def act(self, cursor: sqlite3.Cursor, undo: Undo) -> object:
        if joins(self._writes) and self._writes.session is None:
            self._batch.expect(self._fence)
        else:
            check_fence(cursor, self._fence)
        apply(cursor, self._fence.session, self._writes, self._batch, undo)
        return None


class AmendPiece(WriterPiece):
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

    @property
    @override
    def prompt(self) -> bool:
        """What may begin a session is a message that comes in, or a reset of one."""
        return self._ask.create

    @override
    def act(self, cursor: sqlite3.Cursor, undo: Undo) -> object:
        view = look(cursor, self._ref, self._ask, self._lease, self._batch, undo)
        plan = self._decide(view)
        session = None if view.session is None else view.session.id
        row = apply(cursor, session, plan.writes, self._batch, undo)
        return plan.result if plan.named is None else plan.named(plan.result, row)


class BeatPiece(WriterPiece):
    __slots__ = ("_owner",)

    def __init__(self, future: asyncio.Future[object], owner: str) -> None:
        super().__init__(future)
        self._owner = owner

    @override
    def act(self, cursor: sqlite3.Cursor, undo: Undo) -> object:
        cursor.execute(SQL["beat"], (self._owner,))
        return None


class LocalPiece(WriterPiece):
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

    @override
    def act(self, cursor: sqlite3.Cursor, undo: Undo) -> object:
        check_fence(cursor, self._fence)
        result: object = None
        error = self._blamed
        if error is None:
            self._batch.check(cursor)  # found out later, a neighbour would have the tool run twice
            undo.mark()
            result, error = self._guard.run(self._call)
            if error is not None:
                if not cursor.connection.in_transaction:
                    raise error
                undo.back()
        writes = self._call.settle(None if error else result, error)
        apply(cursor, self._fence.session, writes, self._batch, undo)
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
