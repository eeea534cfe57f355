"""The memory store's tables: dictionaries of frozen rows, and the one way to change them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, cast

from gateway.engine.errors import DuplicateClaimError, WriteConflictError
from gateway.engine.kinds import OPEN_STATES, Millis, SessionId, SessionRef, TurnRow
from gateway.engine.limits import SYSTEM_CLOCK
from gateway.engine.records import (
    NEW_TURN,
    Audit,
    Claim,
    Companion,
    EventRow,
    MessageRow,
    OccurrenceKept,
    RequestRecord,
    SessionPatch,
    StepRow,
    TurnRecord,
    UsageRow,
    VoteRow,
    Writes,
)
from gateway.engine.struct import replace
from gateway.stores.memory_ledger_rows import Address, LedgerTables, Tick, tick_of

Row = TypeVar("Row")


@dataclass(slots=True)
class TurnTable:
    """One turn and what hangs on it; ``record.last_seq`` is not kept up to date."""

    session: SessionTable
    record: TurnRecord
    steps: dict[str, StepRow] = field(default_factory=dict[str, StepRow])
    events: dict[int, EventRow] = field(default_factory=dict[int, EventRow])
    usage: dict[int, UsageRow] = field(default_factory=dict[int, UsageRow])
    requests: dict[str, RequestRecord] = field(default_factory=dict[str, RequestRecord])

    @property
    def read(self) -> TurnRecord:
        return replace(self.record, last_seq=max(self.events, default=0))


@dataclass(slots=True)
class SessionTable:
    """One session and its transcript; ``messages`` by generation, then index."""

    id: SessionId
    ref: SessionRef
    created_at: Millis
    active_at: Millis
    generation: int = 0
    epoch: int = 0
    owner: str | None = None
    next_number: int = 1
    reset_at: Millis | None = None
    turns: dict[str, TurnTable] = field(default_factory=dict[str, TurnTable])
    messages: dict[int, dict[int, MessageRow]] = field(
        default_factory=dict[int, dict[int, MessageRow]]
    )

    @property
    def next_index(self) -> int:
        return max(self.messages.get(self.generation, {}), default=-1) + 1

    @property
    def open(self) -> list[TurnTable]:
        found = [turn for turn in self.turns.values() if turn.record.state in OPEN_STATES]
        return sorted(found, key=lambda turn: turn.record.number)


class Tables:
    """Everything the store holds. ``apply`` checks a whole ``Writes`` before it changes a row."""

    def __init__(self) -> None:
        self.sessions: dict[SessionRef, SessionTable] = {}
        self.by_id: dict[SessionId, SessionTable] = {}
        self.turns: dict[TurnRow, TurnTable] = {}
        self.votes: dict[str, list[VoteRow]] = {}
        self.editions: dict[str, str] = {}
        self.claims: dict[str, Claim] = {}
        self.companions: dict[str, list[Companion]] = {}
        self.ledger = LedgerTables(self._address)
        self._rows = 0

    def _address(self, row: TurnRow) -> Address | None:
        turn = self.turns.get(row)
        if turn is None:
            return None
        return turn.session.ref.agent, turn.session.ref.key, turn.record.turn_id

    def audit(self) -> list[Audit]:
        rows = self.companions.get(Audit.TABLE, [])
        return [row for row in rows if isinstance(row, Audit)]

    def draft_session(self, ref: SessionRef) -> SessionTable:
        now = SYSTEM_CLOCK.now()
        return SessionTable(SessionId(len(self.sessions) + 1), ref, now, now)

    def keep_session(self, session: SessionTable) -> None:
        self.sessions[session.ref] = session
        self.by_id[session.id] = session

    def apply(self, session: SessionTable | None, writes: Writes) -> TurnRow:
        """All of it or, raising, none of it. The new turn's number, if there is one."""
        fresh = self._draft_turn(session, writes)
        _Check(self, session, fresh).run(writes)
        if session is not None:
            self._apply_session(session, writes, fresh)
        for step in _named(writes.steps, fresh):
            self._turn(step.turn, fresh).steps[step.step] = step
        for usage in _named(writes.usage, fresh):
            self._turn(usage.turn, fresh).usage[usage.step] = usage
        for event in _named(writes.events, fresh):
            self._turn(event.turn, fresh).events[event.seq] = event
        for record in writes.turns:
            self._save_turn(record)
        for record in writes.opened:
            turn = self.turns[record.row]
            turn.record = replace(turn.record, content=None)
        self._apply_rest(writes, fresh)
        return NEW_TURN if fresh is None else fresh.record.row

    def _apply_rest(self, writes: Writes, fresh: TurnTable | None) -> None:
        for mark in _named(writes.cancels, fresh):
            turn = self._turn(mark.turn, fresh)
            turn.record = replace(turn.record, cancel=mark.reason, cancel_at=mark.at)
        for asked in _named(writes.requests, fresh):
            self._turn(asked.turn, fresh).requests[asked.key] = asked
        for vote in writes.votes:
            self.votes.setdefault(vote.request, []).append(vote)
        for edition in writes.editions:
            self.editions.setdefault(edition.hash, edition.body)
        for companion in _named(writes.companions, fresh):
            self._keep(companion, fresh)

    def _draft_turn(self, session: SessionTable | None, writes: Writes) -> TurnTable | None:
        if writes.new_turn is None:
            return None
        if session is None:
            raise ValueError("a turn needs a session: ask with create=True")
        return TurnTable(session, replace(writes.new_turn, row=TurnRow(self._rows + 1)))

    def _apply_session(
        self, session: SessionTable, writes: Writes, fresh: TurnTable | None
    ) -> None:
        if writes.session is not None:
            _patch(session, writes.session)
        if fresh is not None:
            self._rows += 1
            session.turns[fresh.record.turn_id] = fresh
            session.next_number = fresh.record.number + 1
            self.turns[fresh.record.row] = fresh
        if writes.session is not None or fresh is not None or writes.turns:
            session.active_at = SYSTEM_CLOCK.now()
        for row in _named(writes.messages, fresh):
            turn_id = self._turn(row.turn, fresh).record.turn_id
            told = replace(row, turn_id=turn_id)
            session.messages.setdefault(row.generation, {})[row.index] = told

    def _turn(self, row: TurnRow, fresh: TurnTable | None) -> TurnTable:
        return fresh if fresh is not None and row == fresh.record.row else self.turns[row]

    def _save_turn(self, record: TurnRecord) -> None:
        turn = self.turns[record.row]
        kept = {name: getattr(turn.record, name) for name in _FIXED}
        turn.record = replace(record, **kept)

    def _keep(self, companion: Companion, fresh: TurnTable | None) -> None:
        if isinstance(companion, Claim):
            self.claims[companion.key] = companion
        elif isinstance(companion, UsageRow):
            self._turn(companion.turn, fresh).usage[companion.step] = companion
        elif not self.ledger.keep(companion):
            self.companions.setdefault(companion.TABLE, []).append(companion)


_NAMES = [item.name for item in fields(TurnRecord)]
_FIXED = _NAMES[: _NAMES.index("state")]
"""What ``Writes.turns`` doesn't change: the opening, and the cancel request."""


def _patch(session: SessionTable, change: SessionPatch) -> None:
    if change.epoch is not None:
        session.epoch = change.epoch
    if change.generation is not None:
        session.generation = change.generation
    if change.release:
        session.owner = None
    elif change.owner is not None:
        session.owner = change.owner
    if change.clear_reset:
        session.reset_at = None
    elif change.reset_at is not None:
        session.reset_at = change.reset_at


def _named(rows: Iterable[Row], fresh: TurnTable | None) -> Iterator[Row]:
    """The rows, those of the new turn under its number."""
    for row in rows:
        if fresh is not None and getattr(row, "turn", None) == NEW_TURN:
            yield cast("Row", replace(cast("Any", row), turn=fresh.record.row))
        else:
            yield row


class _Check:
    """Finds what of a ``Writes`` contradicts the tables, before anything is changed."""

    def __init__(
        self, tables: Tables, session: SessionTable | None, fresh: TurnTable | None
    ) -> None:
        self._tables = tables
        self._session = session
        self._fresh = fresh

    def run(self, writes: Writes) -> None:
        if self._session is None and (writes.session or writes.messages):
            raise ValueError("these rows need a session: ask with create=True")
        if self._fresh is not None and self._fresh.record.turn_id in self._fresh.session.turns:
            raise WriteConflictError(f"turn {self._fresh.record.turn_id!r} exists already")
        for rows in (writes.messages, writes.steps, writes.events, writes.cancels, writes.requests):
            for row in rows:
                self._known(row.turn)
        for record in writes.turns:
            self._known(record.row)
        self._messages(writes.messages)
        self._events(writes.events)
        priced = [row for row in writes.companions if isinstance(row, UsageRow)]
        self._usage([*writes.usage, *priced])
        self._claims([row for row in writes.companions if isinstance(row, Claim)])
        self._ticks([row for row in writes.companions if isinstance(row, OccurrenceKept)])

    def _known(self, row: TurnRow) -> TurnTable | None:
        if row == NEW_TURN and self._fresh is not None:
            return None
        if row not in self._tables.turns:
            raise WriteConflictError(f"there is no turn {row}")
        return self._tables.turns[row]

    def _messages(self, rows: tuple[MessageRow, ...]) -> None:
        taken: set[tuple[int, int]] = set()
        for row in rows:
            held = self._session.messages.get(row.generation, {}) if self._session else {}
            key = (row.generation, row.index)
            if key in taken or row.index in held:
                raise WriteConflictError(f"message {row.index} of the session exists already")
            taken.add(key)

    def _events(self, rows: tuple[EventRow, ...]) -> None:
        taken: set[tuple[int, int]] = set()
        for row in rows:
            turn = self._known(row.turn)
            key = (row.turn, row.seq)
            if key in taken or (turn is not None and row.seq in turn.events):
                raise WriteConflictError(f"event {row.seq} of the turn exists already")
            taken.add(key)

    def _usage(self, rows: list[UsageRow]) -> None:
        taken: set[tuple[int, int]] = set()
        for row in rows:
            turn = self._known(row.turn)
            key = (row.turn, row.step)
            if key in taken or (turn is not None and row.step in turn.usage):
                raise WriteConflictError(f"usage of step {row.step} exists already")
            taken.add(key)

    def _claims(self, rows: list[Claim]) -> None:
        held = dict[str, Claim]()
        for row in rows:
            other = held.get(row.key) or self._tables.claims.get(row.key)
            if other is not None and other.expires_at > row.at:
                raise DuplicateClaimError(row.key)
            held[row.key] = row

    def _ticks(self, rows: list[OccurrenceKept]) -> None:
        taken: set[Tick] = set()
        for row in rows:
            tick = tick_of(row)
            if tick in taken or tick in self._tables.ledger.occurrences:
                raise DuplicateClaimError(row.key)
            taken.add(tick)
