"""Rows of the ways in and out as they come back → the ledger's records. Columns stand in field order
(``ledger.sql``)."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.engine.ledger import (
    Binding,
    Claimed,
    Delivery,
    Document,
    FileRow,
    InboxRow,
    Installation,
    Known,
    OccurrenceRow,
    Pair,
    Part,
    VerdictRow,
)
from gateway.engine.wire.text import loads
from gateway.stores.postgres.rows import Cells, names_of, values_of
from gateway.stores.postgres.text import storable

_DELIVERY = tuple(name for name in names_of(Delivery) if name not in {"parts", "recovered"})
_PART = names_of(Part)
_VERDICT = names_of(VerdictRow)
_INBOX = names_of(InboxRow)
_CLAIMED = names_of(Claimed)
_PAIR = names_of(Pair)
_INSTALLATION = names_of(Installation)
_BINDING = ("place", "agent", "session", "turn", "kind", "at")
_FILE = names_of(FileRow)
_DOCUMENT = names_of(Document)
_OCCURRENCE = names_of(OccurrenceRow)


# -- read ------------------------------------------------------------------------------------------
def delivery_from(cells: Cells) -> Delivery:
    values = values_of(_DELIVERY, cells[:-1])
    values["target"] = loads(values["target"])
    return Delivery(**values, parts=tuple([Part(**values_of(_PART, one)) for one in cells[-1]]))


def inbox_from(cells: Cells) -> InboxRow:
    return InboxRow(**values_of(_INBOX, cells))


def verdict_from(cells: Cells) -> VerdictRow:
    return VerdictRow(**values_of(_VERDICT, cells))


def known_from(cells: Cells) -> Known:
    verdict, bindings, claims, pairs = cells
    return Known(
        verdict=None if verdict is None else verdict_from(verdict),
        bindings=tuple([Binding(**values_of(_BINDING, one)) for one in bindings]),
        claims=tuple([Claimed(**values_of(_CLAIMED, one)) for one in claims]),
        pairs=tuple([Pair(**values_of(_PAIR, one)) for one in pairs]),
    )


def installation_from(cells: Cells) -> Installation:
    return Installation(**values_of(_INSTALLATION, cells))


def document_from(cells: Cells) -> Document:
    values = values_of(_DOCUMENT, cells)
    values["body"] = loads(values["body"])
    return Document(**values)


def occurrence_from(cells: Cells) -> OccurrenceRow:
    return OccurrenceRow(**values_of(_OCCURRENCE, cells))


# -- written ---------------------------------------------------------------------------------------
def part_columns(parts: Sequence[Part]) -> list[list[object]]:
    """One list per column, without the delivery's, of the last part by each number."""
    last = {part.n: part for part in parts}
    return _columns(_PART[1:], [last[n] for n in sorted(last)])


def binding_columns(places: Sequence[Binding]) -> list[list[object]]:
    return _columns(("place", "agent", "session", "kind", "turn", "at"), places)


def installation_cells(row: Installation) -> list[object]:
    """All but the version."""
    return [_cell(row, name) for name in _INSTALLATION[:-1]]


def file_cells(row: FileRow) -> list[object]:
    return [_cell(row, name) for name in _FILE]


def _columns(names: Sequence[str], rows: Sequence[object]) -> list[list[object]]:
    return [[_cell(row, name) for row in rows] for name in names]


def _cell(row: object, name: str) -> object:
    value: object = getattr(row, name)
    return storable(value) if isinstance(value, str) else value
