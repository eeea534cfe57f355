"""One thread owns the writing connection and commits in groups.

Work that arrives while a commit is under way forms the next transaction; nobody waits on purpose,
so a lone session pays nothing. What somebody outside waits for goes first, and its group ends with
it. A piece that may fail halfway sets a savepoint, and a caller is answered only after COMMIT
returned, all of a group in one hop to the event loop.

A piece can lose the transaction for all (``INSERT OR ROLLBACK``, ``RAISE(ROLLBACK)``, a full disk).
Nobody was answered then, so every other piece of the group runs again, alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import sqlite3
import threading
import time
from collections import deque
from typing import Protocol

from gateway.engine.errors import StoreUnavailableError
from gateway.stores.sqlite.batch import Batch, Refused
from gateway.stores.sqlite.faults import closed_error, engine_error
from gateway.stores.sqlite.schema import BUSY_MILLIS
from gateway.stores.sqlite.undo import Lost

GROUP_PIECES = 256
GROUP_SECONDS = 0.01
IDLE_SECONDS = 5.0
_log = logging.getLogger(__name__)


class Piece(Protocol):
    """Work of one caller. ``run`` leaves nothing behind when it raises; where it can't, it raises
    ``Lost``, and where the batch can't be written, ``Refused``."""

    future: asyncio.Future[object]

    @property
    def prompt(self) -> bool:
        """Whether it goes before the host's own work: somebody outside waits for it."""
        ...

    @property
    def apart(self) -> bool:
        """Whether it must not share a group."""
        ...

    def run(self, cursor: sqlite3.Cursor) -> object: ...

    def blame(self, error: BaseException) -> bool:
        """It lost the transaction or broke its own commit. ``True`` when it wants one more run, to
        write down its error instead."""
        ...

    def answered(self) -> None:
        """On the event loop, once the outcome is known."""
        ...


Outcome = tuple[Piece, object, BaseException | None]


class Line:
    """What waits for the writer. A group takes the prompt pieces first and ends with them; the group
    after it begins with another, so that a flood of messages slows turns down but never stops them."""

    def __init__(self) -> None:
        self._tokens: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._prompt: deque[Piece] = deque()
        self._others: deque[Piece] = deque()
        self._hurried = False

    def put(self, piece: Piece) -> None:
        (self._prompt if piece.prompt else self._others).append(piece)
        self._tokens.put(True)

    def end(self) -> None:
        """Nothing comes after what was put before."""
        self._tokens.put(False)

    def first(self, timeout: float | None = None) -> Piece | None:
        """Wait for the first piece of a group; ``None`` at the end. ``queue.Empty`` after
        ``timeout`` seconds."""
        if not self._tokens.get(timeout=timeout):
            return None
        others = self._others and (self._hurried or not self._prompt)
        piece = (self._others if others else self._prompt).popleft()
        self._hurried = piece.prompt
        return piece

    def following(self) -> Piece | None:
        """One more for the group, if it doesn't end here and the next needn't stand apart from it."""
        waiting = self._prompt or (() if self._hurried else self._others)
        if not waiting or waiting[0].apart:
            return None
        self._tokens.get()
        piece = waiting.popleft()
        self._hurried = self._hurried or piece.prompt
        return piece

    def rest(self) -> list[Piece]:
        """Everything that waits now."""
        found: list[Piece] = []
        while waiting := self._prompt or self._others:
            self._tokens.get()
            found.append(waiting.popleft())
        return found


class Writer:
    """``pieces`` and ``groups`` count what was committed, for whoever measures."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        loop: asyncio.AbstractEventLoop,
        batch: Batch,
        *,
        idle: float = IDLE_SECONDS,
    ) -> None:
        self.pieces = 0
        self.groups = 0
        self._connection = connection
        self._cursor = connection.cursor()
        self._execute = self._cursor.execute
        self._loop = loop
        self._batch = batch
        self._idle = idle
        self._line = Line()
        self._submitted: list[Piece] = []
        self._closed = False
        self._unchecked = True
        self._thread = threading.Thread(target=self._main, name="gateway-sqlite", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def submit(self, piece: Piece) -> None:
        """On the event loop. The thread hears at once of what somebody outside waits for, and of the
        rest once all that is ready there has run: woken at the first of many, it would fight for the
        interpreter with those that are about to submit more, which costs both of them more than
        either's work."""
        if self._closed:
            raise closed_error()
        if piece.prompt:
            self._line.put(piece)
            return
        if not self._submitted:
            self._loop.call_soon(self._hand_over)
        self._submitted.append(piece)

    def _hand_over(self) -> None:
        for piece in self._submitted:
            self._line.put(piece)
        self._submitted.clear()

    async def stop(self, patience: float) -> bool:
        """Finish what was submitted, checkpoint, close the connection. ``False`` when a tool that
        doesn't return keeps the thread; it dies with the process."""
        self._closed = True
        self._hand_over()
        self._line.end()
        await asyncio.to_thread(self._thread.join, patience)
        return not self._thread.is_alive()

    # -- the thread ----------------------------------------------------------------------------
    def _main(self) -> None:
        while (piece := self._next()) is not None:
            group = [piece]
            try:
                self._collect(group)
            except BaseException as exc:  # noqa: BLE001 - the callers get it
                _log.exception("the store's writer failed; nothing of this group was kept")
                self._roll_back()
                self._answer([(one, None, _unknown(exc)) for one in group])
        self._checkpoint()
        self._cursor.close()  # it holds a statement, which would keep the file open
        self._connection.close()

    def _next(self) -> Piece | None:
        """The next piece, ``None`` at the end. Idle time goes into folding the log back."""
        while self._unchecked:
            try:
                return self._line.first(timeout=self._idle)
            except queue.Empty:
                self._checkpoint()
        return self._line.first()

    def _collect(self, group: list[Piece]) -> None:
        """Run one group that begins with ``group[0]``, commit it, answer."""
        try:
            self._execute("BEGIN IMMEDIATE")
        except sqlite3.Error as exc:
            self._refuse_all(group, exc)
            return
        ends = time.perf_counter() + GROUP_SECONDS
        outcomes: list[Outcome] = []
        while True:
            piece = group[-1]
            result, error, lost = self._attempt(piece)
            if lost:
                self._each_alone(group, error)
                return
            outcomes.append((piece, result, error))
            if piece.apart or len(group) >= GROUP_PIECES or time.perf_counter() > ends:
                break
            following = self._line.following()
            if following is None:
                break
            group.append(following)
        try:
            self._batch.write(self._cursor)
            self._execute("COMMIT")
        except (sqlite3.Error, Refused):
            self._each_alone(group, None)
            return
        self._unchecked = True
        self.pieces += len(outcomes)
        self.groups += 1
        self._answer(outcomes)

    def _attempt(self, piece: Piece) -> tuple[object, BaseException | None, bool]:
        """Run a piece: its result, its error, whether the transaction is lost."""
        result: object = None
        error: BaseException | None = None
        try:
            result = piece.run(self._cursor)
        except Refused:
            return None, None, True
        except Lost as lost:
            return None, lost.cause, True
        except BaseException as exc:  # noqa: BLE001 - it belongs to the caller
            error = exc
        if not self._connection.in_transaction:
            return None, error or StoreUnavailableError("the transaction was lost"), True
        return result, error, False

    def _each_alone(self, group: list[Piece], culprit: BaseException | None) -> None:
        """Each piece in a transaction of its own; the last one is to blame if anyone is."""
        outcomes: list[Outcome] = []
        self._roll_back()
        for piece in group:
            blamed = culprit if piece is group[-1] else None
            outcomes.append((piece, *self._alone(piece, blamed)))
        self._unchecked = True
        self.pieces += len(outcomes)
        self.groups += len(outcomes)
        self._answer(outcomes)

    def _alone(
        self, piece: Piece, blamed: BaseException | None
    ) -> tuple[object, BaseException | None]:
        if blamed is not None and not piece.blame(blamed):
            return None, blamed
        try:
            self._execute("BEGIN IMMEDIATE")
            result, error, lost = self._attempt(piece)
            if not lost:
                self._batch.write(self._cursor)
                self._execute("COMMIT")
                return result, error
            error = error or StoreUnavailableError("the transaction was lost")
        except Refused as refused:
            error = refused.cause
        except sqlite3.Error as exc:
            error = exc
        self._roll_back()
        return (None, error) if blamed is not None else self._alone(piece, error)

    def _refuse_all(self, group: list[Piece], error: BaseException) -> None:
        """No transaction can begin: tell everyone who waits at once instead of one by one."""
        self._answer([(piece, None, error) for piece in [*group, *self._line.rest()]])

    def _roll_back(self) -> None:
        self._batch.forget()
        if self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._execute("ROLLBACK")

    def _checkpoint(self) -> None:
        """Fold the log into the database and cut it to nothing, if no reader is in the way."""
        self._unchecked = False
        with contextlib.suppress(sqlite3.Error):
            self._execute("PRAGMA busy_timeout = 0")
            (busy, _, _) = self._execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            self._unchecked = bool(busy)
        with contextlib.suppress(sqlite3.Error):
            self._execute(f"PRAGMA busy_timeout = {BUSY_MILLIS}")

    # -- back to the event loop ----------------------------------------------------------------
    def _answer(self, outcomes: list[Outcome]) -> None:
        try:
            self._loop.call_soon_threadsafe(deliver, outcomes)
        except RuntimeError:
            _log.debug("the event loop is gone; nobody waits for this answer")


def deliver(outcomes: list[Outcome]) -> None:
    """Give every caller of a group its answer, in the order in which they were written: what one of
    a session's callers is told may be overtaken by what the next is told. One who left is passed over."""
    for piece, result, error in outcomes:
        piece.answered()
        future = piece.future
        if future.done():
            continue
        if error is None:
            future.set_result(result)
        elif isinstance(error, StopIteration):
            future.set_exception(RuntimeError("a decision raised StopIteration"))
        else:
            future.set_exception(engine_error(error))


def _unknown(error: BaseException) -> StoreUnavailableError:
    return StoreUnavailableError(f"the store's writer failed ({type(error).__name__}: {error})")
