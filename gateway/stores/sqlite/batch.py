"""Checkpoints of a group, written together: one statement per table instead of one per piece.

Most of what a busy host writes are a step's rows: a message, a step, a usage row, a few events, now
and then the turn. They depend on nothing but the fence, so they wait until the group ends and go in
table by table. A piece that has to see a session's rows asks for them to be written first.
"""

from __future__ import annotations

import sqlite3

from gateway.engine.records import Writes
from gateway.stores.sqlite.rows import (
    SQL,
    Row,
    event_values,
    message_values,
    saved_turn_values,
    step_values,
    usage_values,
)

INSERT_MESSAGE = SQL["insert_message"]
SAVE_STEP = SQL["save_step"]
INSERT_USAGE = SQL["insert_usage"]
INSERT_EVENT = SQL["insert_event"]
SAVE_TURN = SQL["save_turn"]
TOUCH_SESSION = SQL["touch_session"]


def joins(writes: Writes) -> bool:
    """Whether these are a step's rows and nothing else."""
    return not (
        writes.companions
        or writes.requests
        or writes.session is not None
        or writes.new_turn is not None
        or writes.opened
        or writes.cancels
        or writes.editions
        or writes.votes
    )


class Batch:
    """Rows that wait for the end of their group."""

    def __init__(self) -> None:
        self.sessions: set[int] = set()
        self._messages: list[Row] = []
        self._steps: list[Row] = []
        self._usage: list[Row] = []
        self._events: list[Row] = []
        self._turns: list[Row] = []
        self._touched: list[Row] = []

    def take(self, session: int, writes: Writes) -> None:
        """Keep a checkpoint's rows for later; ``joins`` says that they may wait."""
        self.sessions.add(session)
        for message in writes.messages:
            self._messages.append((session, *message_values(message)))
        self._steps.extend(map(step_values, writes.steps))
        self._usage.extend(map(usage_values, writes.usage))
        self._events.extend(map(event_values, writes.events))
        if writes.turns:
            self._turns.extend(map(saved_turn_values, writes.turns))
            self._touched.append((session,))

    def write(self, cursor: sqlite3.Cursor) -> None:
        """All of it, in the order in which a piece alone would write its rows."""
        if not self.sessions:
            return
        many = cursor.executemany
        for statement, rows in (
            (TOUCH_SESSION, self._touched),
            (INSERT_MESSAGE, self._messages),
            (SAVE_STEP, self._steps),
            (INSERT_USAGE, self._usage),
            (INSERT_EVENT, self._events),
            (SAVE_TURN, self._turns),
        ):
            if rows:
                many(statement, rows)
        self.forget()

    def forget(self) -> None:
        self.sessions.clear()
        for rows in (
            self._messages,
            self._steps,
            self._usage,
            self._events,
            self._turns,
            self._touched,
        ):
            rows.clear()
