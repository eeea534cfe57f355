"""Between records and rows. Field names are read once, at import: these run for every step."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import Any, TypeVar

from gateway.engine.kinds import SessionRef
from gateway.engine.records import (
    COMPANIONS,
    EditionRow,
    EventRow,
    LoggedEvent,
    MessageRow,
    RequestRecord,
    SessionRow,
    StepRow,
    TurnHead,
    TurnRecord,
    UsageRow,
    VoteRow,
)
from gateway.stores.sql import load_queries

R = TypeVar("R")
Row = tuple[Any, ...]
Values = Callable[[Any], Row]

SQL = load_queries("sqlite")

# The sqlite3 module binds int, str and float at once but searches four places for a way to adapt
# anything else, None included, which doubles the price of a row. Telling it the way changes nothing
# but that; a dictionary's get is the cheapest callable that gives None for None.
sqlite3.register_adapter(bool, int)
sqlite3.register_adapter(type(None), dict[None, None]().get)


def names(record: type[Any], *without: str) -> list[str]:
    return [item.name for item in fields(record) if item.name not in without]


def reader(record: type[R], *flags: str) -> Callable[[Row], R]:
    """Builds the record from a row that lists its fields in order."""
    listed = names(record)

    def read(row: Row) -> R:
        values = dict(zip(listed, row, strict=True))
        for flag in flags:
            values[flag] = bool(values[flag])
        return record(**values)

    return read


read_turn = reader(TurnRecord, "alone", "delivers")
read_head = reader(TurnHead, "delivers")
read_message = reader(MessageRow)
read_step = reader(StepRow, "done")
read_event = reader(EventRow)
read_usage = reader(UsageRow, "estimated")
read_request = reader(RequestRecord)
read_vote = reader(VoteRow)
read_edition = reader(EditionRow)

_EVENT, MESSAGE = len(names(EventRow)), len(names(MessageRow))


def read_session(row: Row) -> SessionRow:
    return SessionRow(
        id=row[0],
        ref=SessionRef(row[1], row[2]),
        generation=row[3],
        epoch=row[4],
        owner=row[5],
        owner_alive=bool(row[6]),
        next_index=row[7],
        next_number=row[8],
        reset_at=row[9],
        created_at=row[10],
        active_at=row[11],
    )


def read_logged(row: Row) -> LoggedEvent:
    message = row[_EVENT : _EVENT + MESSAGE]
    usage = row[_EVENT + MESSAGE :]
    return LoggedEvent(
        event=read_event(row[:_EVENT]),
        message=read_message(message) if message[0] is not None else None,
        usage=read_usage(usage) if usage[0] is not None else None,
    )


# Values in the order of the statement that takes them.
_SAVED = names(TurnRecord)[names(TurnRecord).index("state") : -1]
_GIVEN = [
    "turn_id",
    "number",
    "generation",
    "body",
    "content_hash",
    "source",
    "speaker",
    "queued_at",
]

new_turn_values: Values = attrgetter(*_GIVEN, "cancel", "cancel_at", *_SAVED)
saved_turn_values: Values = attrgetter(*_SAVED, "row")
message_values: Values = attrgetter(*names(MessageRow, "turn_id"))
step_values: Values = attrgetter(*names(StepRow))
event_values: Values = attrgetter(*names(EventRow))
usage_values: Values = attrgetter(*names(UsageRow))
request_values: Values = attrgetter(*names(RequestRecord, "turn_id"))
vote_values: Values = attrgetter(*names(VoteRow))
edition_values: Values = attrgetter(*names(EditionRow))
cancel_values: Values = attrgetter("turn", "reason", "at")
patch_values: Values = attrgetter(
    "epoch", "generation", "owner", "release", "reset_at", "clear_reset"
)
companion_inserts: dict[str, tuple[str, Values]] = {
    kind.TABLE: (SQL[f"insert_{kind.TABLE}"], attrgetter(*names(kind))) for kind in COMPANIONS
}
