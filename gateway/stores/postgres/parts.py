"""What one ``Writes`` is made of: the kinds of rows, their columns, and the rows of each."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import cast, get_type_hints

from gateway.engine.kinds import TurnRow
from gateway.engine.records import (
    NEW_TURN,
    WAYS,
    CancelMark,
    Claim,
    Companion,
    EditionRow,
    TurnRecord,
    UsageRow,
    Writes,
)
from gateway.engine.struct import replace, struct

Cell = None | bool | int | str


@struct(frozen=True, slots=True, eq=False)
class Part:
    """How one kind of row is written: its piece of SQL, its columns and their types. There is one
    object per kind, so shapes compare and hash by identity."""

    piece: str
    table: str
    columns: tuple[tuple[str, str], ...]
    texts: tuple[int, ...]
    """Which of the columns hold text."""
    cells: Callable[[object], tuple[Cell, ...]]

    @property
    def plain(self) -> bool:
        """A checkpoint's own rows: writing them waits for no row but the session's."""
        return self.piece in PLAIN

    @property
    def counts(self) -> bool:
        """What a decision may have been shown: writing it counts in the mailbox's version."""
        return self.piece not in PLAIN and self.piece not in BESIDE


PLAIN = frozenset({"write_messages", "write_steps", "write_rows"})
BESIDE = frozenset(
    {"write_editions", "write_claims"}
    | {"write_verdicts", "write_revised", "write_deliveries", "write_marks"}
    | {"write_places", "write_inbox", "write_pairs", "write_occurrences"}
)


def declared(
    piece: str,
    columns: str,
    *,
    table: str = "",
    read: str = "",
    cells: Callable[[object], tuple[Cell, ...]] | None = None,
) -> Part:
    """``columns`` as in a declaration. ``read`` names the attributes where they differ, ``cells``
    takes a row apart that isn't read by name."""
    pairs = tuple(cast("tuple[str, str]", tuple(one.split())) for one in columns.split(","))
    texts = tuple(at for at, (_, kind) in enumerate(pairs) if kind == "text")
    names = read.split() or [name for name, _ in pairs]
    found = attrgetter(*names)
    if cells is None and len(names) > 1:
        cells = found
    elif cells is None:
        # A getter of one name gives the bare value.
        alone = cast("Callable[[object], Cell]", found)
        cells = lambda row: (alone(row),)  # noqa: E731
    return Part(f"write_{piece}", table or piece, pairs, texts, cells)


_SAVED = (
    "cancel text, cancel_at bigint, state text, surface text, edition text, opening bigint,"
    "started_at bigint, ended_at bigint, attempt_at bigint, ran bigint, attempts bigint,"
    "crashes bigint, suspect bigint, alone boolean, request text, answer bigint, error text,"
    "delivers boolean"
)
NEW_TURNS = declared(
    "new_turn",
    "turn_id text, number bigint, generation bigint, body text, content_hash text, source text,"
    f"speaker text, queued_at bigint, {_SAVED}",
)
OPENINGS = declared("openings", "content text")
OPENED = declared("opened", "turn bigint", read="row")
SESSION = declared(
    "session",
    "epoch bigint, generation bigint, owner text, release boolean, reset_at bigint,"
    "clear_reset boolean",
)
MESSAGES = declared(
    "messages",
    "generation bigint, idx bigint, turn bigint, role text, body text",
    read="generation index turn role body",
)
STEPS = declared(
    "steps",
    "turn bigint, step text, done boolean, attempt bigint, message bigint, body text, at bigint",
)
EVENTS = declared(
    "rows", "turn bigint, seq bigint, at bigint, type text, ref bigint, body text", table="events"
)
TURNS = declared(
    "turns",
    f"id bigint, {_SAVED}",
    read="row cancel cancel_at state surface edition opening started_at ended_at attempt_at ran"
    " attempts crashes suspect alone request answer error delivers",
)
CANCELS = declared("cancels", "turn bigint, reason text, at bigint")
REQUESTS = declared(
    "requests",
    "id text, key text, turn bigint, position bigint, call_id text, name text, tool text,"
    "digest text, body text, created_at bigint, expires_at bigint, outcome text, value text,"
    "reason text, by text, decided_at bigint",
)
VOTES = declared("votes", "request text, by text, value text, reason text, at bigint")
EDITIONS = declared("editions", "hash text, body text")
UPDATES = (TURNS, CANCELS)
"""Parts whose every row must be there already."""


@functools.cache
def companion_part(kind: type[Companion]) -> Part:
    """One column per field, in field order, as the record promises."""
    hints = get_type_hints(kind)
    names = [item.name for item in fields(cast("type[Claim]", kind))]
    columns = ",".join(f"{name} {_column_type(hints[name])}" for name in names)
    return declared("claims" if kind is Claim else "rows", columns, table=kind.TABLE)


def _column_type(hint: object) -> str:
    for kind in getattr(hint, "__args__", (hint,)):
        base: object = getattr(kind, "__supertype__", kind)
        if base is bool:
            return "boolean"
        if base is int:
            return "bigint"
    return "text"


Rows = Sequence[object]
Parts = list[tuple[Part, Rows]]


def parts_of(writes: Writes) -> Parts:
    """In the statement's order: a new turn comes first, because other rows name it. Rows of the ways
    in and out stand apart (``ledger.ways``)."""
    parts: Parts = []
    if writes.turns or writes.cancels or writes.new_turn or writes.session:
        parts += _heads(writes)
    if writes.messages:
        parts.append((MESSAGES, writes.messages))
    if writes.steps:
        parts.append((STEPS, _last(writes.steps, attrgetter("turn", "step"))))
    if writes.events:
        parts.append((EVENTS, writes.events))
    if writes.usage or writes.companions:
        parts += _companions(writes.usage, writes.companions)
    if writes.opened:
        parts.append((OPENED, writes.opened))
    if writes.requests:
        parts.append((REQUESTS, _last(writes.requests, attrgetter("turn", "key"))))
    if writes.votes:
        parts.append((VOTES, writes.votes))
    if writes.editions:
        parts.append((EDITIONS, _first(writes.editions)))
    return parts


def _heads(writes: Writes) -> Parts:
    """What goes through the mailbox: the session and its turns.

    Saving a turn leaves its cancel request alone, unless a mark for it comes along: then both are
    one update, since a statement can't update a row twice.
    """
    parts: Parts = []
    marks = {mark.turn: mark for mark in writes.cancels}
    if writes.session is not None:
        parts.append((SESSION, (writes.session,)))
    if writes.new_turn is not None:
        new = (_marked(writes.new_turn, marks),)
        parts.append((NEW_TURNS, new))
        if writes.new_turn.content is not None:
            parts.append((OPENINGS, new))
        marks.pop(NEW_TURN, None)
    saved = {turn.row: _marked(turn, marks) for turn in writes.turns}
    if saved:
        parts.append((TURNS, list(saved.values())))
    if rest := [mark for row, mark in marks.items() if row not in saved]:
        parts.append((CANCELS, rest))
    return parts


def _marked(turn: TurnRecord, marks: Mapping[TurnRow, CancelMark]) -> TurnRecord:
    mark = marks.get(turn.row)
    if mark is not None:
        return replace(turn, cancel=mark.reason, cancel_at=mark.at)
    if turn.row != NEW_TURN and turn.cancel is not None:
        return replace(turn, cancel=None, cancel_at=None)
    return turn


def _companions(usage: tuple[UsageRow, ...], companions: tuple[Companion, ...]) -> Parts:
    if not companions:
        return [(companion_part(UsageRow), usage)]
    by_kind: dict[type[Companion], list[Companion]] = {}
    for row in (*usage, *companions):
        if type(row) not in WAYS:
            by_kind.setdefault(type(row), []).append(row)
    # Claims in one order everywhere, so that two transactions never wait for each other.
    by_kind.get(Claim, []).sort(key=attrgetter("key"))
    return [(companion_part(kind), rows) for kind, rows in by_kind.items()]


def _last(rows: Rows, key: Callable[[object], object]) -> Rows:
    """The last row per key: one statement can't write a row twice."""
    if len(rows) == 1:
        return rows
    return list({key(row): row for row in rows}.values())


def _first(rows: tuple[EditionRow, ...]) -> Rows:
    """The first row per hash, in the order of the hashes: the same in every transaction, so that
    two of them never wait for each other."""
    first = {row.hash: row for row in reversed(rows)}
    return [first[key] for key in sorted(first)]
