"""The memory store's tables of the ways in and out, and how a companion changes them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from gateway.engine.kinds import Millis, TurnRow
from gateway.engine.ledger import (
    Binding,
    Delivery,
    Document,
    FileRow,
    InboxRow,
    Installation,
    Pair,
    Part,
    VerdictRow,
)
from gateway.engine.records import (
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
from gateway.engine.wire.text import dumps, loads

Address = tuple[str, str, str]
"""Agent, session key and turn id."""
Tick = tuple[str, str, Millis]
"""Agent, schedule, and when it was due."""
QUIET = frozenset({"resting", "done", "silent"})
ENDED = frozenset({"done", "dead", "silent"})


def ticks() -> int:
    """The store's own clock, which leases go by."""
    return time.monotonic_ns() // 1_000_000


@dataclass(slots=True)
class View:
    """A delivery, its parts by number, and until when its sender holds it."""

    row: Delivery
    parts: dict[int, Part]
    lease: int = 0

    @property
    def read(self) -> Delivery:
        return replace(self.row, parts=tuple(self.parts[n] for n in sorted(self.parts)))


@dataclass(slots=True)
class Event:
    """An event of the inbox."""

    row: InboxRow
    state: Literal["due", "taken", "done", "dead"]
    next_try: Millis
    lease: int = 0
    error: str | None = None


@dataclass(slots=True)
class Judged:
    """A verdict; of its turn only the number, so that reading looks the rest up."""

    number: int
    row: VerdictRow
    turn: TurnRow | None


class LedgerTables:
    """``address`` says whose turn a number is, ``None`` where there is no such turn."""

    def __init__(self, address: Callable[[TurnRow], Address | None]) -> None:
        self.views: dict[int, View] = {}
        self.by_turn: dict[TurnRow, dict[str, View]] = {}
        """The same views, by turn and part."""
        self.events: dict[tuple[str, str], Event] = {}
        self.verdicts: dict[tuple[str, str], Judged] = {}
        self.places: dict[str, Binding] = {}
        self.pairs: dict[str, Pair] = {}
        self.leases: dict[str, tuple[str, int]] = {}
        self.installations: dict[str, Installation] = {}
        self.files: dict[str, tuple[FileRow, bytes]] = {}
        self.documents: dict[tuple[str, str], Document] = {}
        self.occurrences: dict[Tick, OccurrenceKept] = {}
        self.address = address
        self._number = 0

    def next(self) -> int:
        self._number += 1
        return self._number

    def void(self) -> None:
        """Whoever held anything is gone."""
        self.leases.clear()
        for view in self.views.values():
            view.lease = 0
        for event in self.events.values():
            event.lease = 0

    # -- companions ----------------------------------------------------------------------------
    def keep(self, row: Companion) -> bool:
        """Write a row of the ways in and out; ``False`` for other kinds."""
        match row:
            case VerdictMade():
                self._judge(row)
            case DeliveryOpened():
                self._open(row)
            case DeliveryMark():
                for view in self.by_turn.get(row.turn, {}).values():
                    _marked(view, row.at)
            case PlaceBound():
                self.bind(row)
            case PairSeen():
                self._count(row)
            case Held():
                self._hold(row)
            case OccurrenceKept():
                self.occurrences[tick_of(row)] = row
            case _:
                return False
        return True

    def _judge(self, made: VerdictMade) -> None:
        key = (made.source, made.event_id)
        held = self.verdicts.get(key)
        if held is not None and not made.revises:
            held.row = replace(held.row, copies=held.row.copies + 1)
            return
        row = VerdictRow(
            source=made.source,
            event_id=made.event_id,
            verdict=made.verdict,
            rule=made.rule,
            place=made.place,
            speaker=made.speaker,
            agent=None,
            session=None,
            turn_id=None,
            said=made.said,
            copies=1,
            at=made.at,
        )
        if held is None:
            self.verdicts[key] = Judged(self.next(), row, made.turn)
            return
        before = held.row
        held.turn = made.turn
        held.row = replace(
            row,
            place=row.place if row.place is not None else before.place,
            speaker=row.speaker if row.speaker is not None else before.speaker,
            copies=before.copies,
            at=before.at,
        )

    def _open(self, made: DeliveryOpened) -> None:
        there = self.by_turn.get(made.turn, {}).get(made.part)
        if there is not None:
            _marked(there, made.at)
            return
        whose = self.address(made.turn)
        if whose is None:
            return
        row = Delivery(
            id=self.next(),
            agent=whose[0],
            session=whose[1],
            turn=made.turn,
            turn_id=whose[2],
            part=made.part,
            source=made.source,
            target=loads(dumps(made.target)),
            lane=made.lane,
            request=made.request,
            state="due",
            wanted=1,
            shown=0,
            hash=None,
            seq=0,
            ref=None,
            attempts=0,
            next_try=made.at,
            error=None,
            revive_on=None,
            remind_at=made.remind_at,
            token=0,
            at=made.at,
        )
        view = View(row, {})
        self.views[row.id] = view
        self.by_turn.setdefault(made.turn, {})[made.part] = view

    def drop(self, view: View) -> None:
        del self.views[view.row.id]
        del self.by_turn[view.row.turn][view.row.part]

    def bind(self, made: PlaceBound | Binding) -> None:
        held = self.places.get(made.place)
        if held is not None:
            self.places[made.place] = replace(held, at=max(held.at, made.at))
            return
        self.places[made.place] = Binding(
            place=made.place,
            agent=made.agent,
            session=made.session,
            turn=made.turn,
            kind=made.kind,
            at=made.at,
        )

    def _count(self, seen: PairSeen) -> None:
        if seen.reset:
            inside = seen.pair + ":"
            gone = [key for key in self.pairs if key == seen.pair or key.startswith(inside)]
            for key in gone:
                del self.pairs[key]
            return
        held = self.pairs.get(seen.pair)
        if held is None or held.first_at < seen.at - seen.window:
            held = Pair(pair=seen.pair, n=0, first_at=seen.at, last_at=seen.at)
        self.pairs[seen.pair] = replace(held, n=held.n + 1, last_at=seen.at)

    def _hold(self, held: Held) -> None:
        key = (held.source, held.event_id)
        if key in self.events:
            return
        row = InboxRow(
            id=self.next(),
            source=held.source,
            event_id=held.event_id,
            kind=held.kind,
            body=held.body,
            attempts=0,
            token=0,
            at=held.at,
        )
        next_try = held.at if held.next_try is None else held.next_try
        self.events[key] = Event(row, "due", next_try)


def tick_of(row: OccurrenceKept) -> Tick:
    return row.agent, row.schedule, row.due


def _marked(view: View, at: Millis) -> None:
    state = "due" if view.row.state in QUIET else view.row.state
    view.row = replace(view.row, wanted=view.row.wanted + 1, state=state, attempts=0, next_try=at)
