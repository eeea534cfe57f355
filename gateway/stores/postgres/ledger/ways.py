"""Rows of the ways in and out as parts of a write's statement.

A statement can't write a row twice, so what names one row several times is made one first, as if
each had come after the one before. Kinds stand in the order below, the same in every transaction, so
that two of them rarely wait for each other; rows that get a number stand as they were given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import TypeVar, cast

from gateway.engine.ledger import Binding
from gateway.engine.records import (
    WAYS,
    Companion,
    DeliveryMark,
    DeliveryOpened,
    Held,
    OccurrenceKept,
    PairSeen,
    PlaceBound,
    VerdictMade,
)
from gateway.engine.struct import replace
from gateway.engine.wire.text import dumps
from gateway.stores.postgres.parts import Cell, Parts, declared

Row = TypeVar("Row")
Place = TypeVar("Place", Binding, PlaceBound)
Cells = tuple[Cell, ...]


def _whole(row: object) -> Cells:
    """Of a row that was taken apart already."""
    return cast("Cells", row)


_VERDICT = (
    "source text, event_id text, verdict text, rule text, place text, speaker text, turn bigint,"
    "said text, at bigint, copies bigint"
)
DELIVERIES = declared(
    "deliveries",
    "turn bigint, part text, source text, target text, lane text, request text, remind_at bigint,"
    "at bigint, next_try bigint, wanted bigint",
    cells=_whole,
)
MARKS = declared("marks", "turn bigint, at bigint")
VERDICTS = declared("verdicts", _VERDICT, cells=_whole)
REVISED = declared("revised", _VERDICT, cells=_whole)
PLACES = declared(
    "places", "place text, agent text, session text, kind text, turn bigint, at bigint"
)
INBOX = declared(
    "inbox",
    "source text, event_id text, kind text, body text, next_try bigint, at bigint",
    cells=_whole,
)
PAIRS = declared(
    "pairs", "pair text, reset boolean, span bigint, at bigint", read="pair reset window at"
)
_TICK = attrgetter("agent", "schedule", "due")
OCCURRENCES = declared(
    "occurrences",
    "agent text, schedule text, due bigint, outcome text, turn bigint, by text, why text, at bigint",
)


def ways_of(companions: Sequence[Companion]) -> Parts:
    """Views are opened before they are marked."""
    ways = [row for row in companions if type(row) in WAYS]
    if not ways:
        return []
    judged = [_judged(rows) for rows in _by(ways, VerdictMade, "source", "event_id")]
    kinds: Parts = [
        (DELIVERIES, [_opened(rows) for rows in _by(ways, DeliveryOpened, "turn", "part")]),
        (MARKS, sorted(_of(DeliveryMark, ways), key=attrgetter("turn"))),
        (VERDICTS, [cells for revises, cells in judged if not revises]),
        (REVISED, [cells for revises, cells in judged if revises]),
        (PLACES, first_places(_of(PlaceBound, ways))),
        (INBOX, [_kept(rows[0]) for rows in _by(ways, Held, "source", "event_id")]),
        (PAIRS, _of(PairSeen, ways)),
        (OCCURRENCES, sorted(_of(OccurrenceKept, ways), key=_TICK)),
    ]
    return [(part, rows) for part, rows in kinds if rows]


def first_places(places: Iterable[Place]) -> list[Place]:
    """The first binding of each place, used when it was used last."""
    found: dict[str, Place] = {}
    for row in places:
        held = found.get(row.place)
        found[row.place] = row if held is None else replace(held, at=max(held.at, row.at))
    return [found[place] for place in sorted(found)]


def _of(kind: type[Row], rows: Sequence[object]) -> list[Row]:
    return [row for row in rows if isinstance(row, kind)]


def _by(rows: Sequence[object], kind: type[Row], *names: str) -> list[list[Row]]:
    """Rows of a kind that have a key in common."""
    key = cast("Callable[[Row], tuple[str, str]]", attrgetter(*names))
    found: dict[tuple[str, str], list[Row]] = {}
    for row in _of(kind, rows):
        found.setdefault(key(row), []).append(row)
    return list(found.values())


def _opened(rows: list[DeliveryOpened]) -> Cells:
    row = rows[0]
    head = (row.turn, row.part, row.source, dumps(row.target), row.lane, row.request)
    return (*head, row.remind_at, row.at, rows[-1].at, len(rows))


def _judged(rows: list[VerdictMade]) -> tuple[bool, Cells]:
    """The first verdict or the last that revises it, and how many come to one row."""
    made, copies = rows[0], 1
    for row in rows[1:]:
        if row.revises:
            place = made.place if row.place is None else row.place
            speaker = made.speaker if row.speaker is None else row.speaker
            made = replace(row, place=place, speaker=speaker, at=made.at)
        else:
            copies += 1
    head = (made.source, made.event_id, made.verdict, made.rule, made.place, made.speaker)
    return made.revises, (*head, made.turn, made.said, made.at, copies)


def _kept(row: Held) -> Cells:
    next_try = row.at if row.next_try is None else row.next_try
    return (row.source, row.event_id, row.kind, row.body, next_try, row.at)
