"""Between the ledger's records and its rows."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter, itemgetter

from gateway.engine.kinds import Json
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
from gateway.engine.wire.text import dumps, loads
from gateway.stores.sqlite.rows import SQL, Row, Values, names, reader

_DELIVERY = names(Delivery, "parts", "recovered")
_PART = names(Part)
_CLAIMED = names(Claimed)
_PAIR = names(Pair)

part_values: Values = attrgetter(*_PART)
installation_values: Values = attrgetter(*names(Installation, "version"))
file_values: Values = attrgetter(*names(FileRow))


def listed(values: Iterable[Json]) -> str:
    """The JSON array that a statement unfolds into rows."""
    return dumps(list(values))


# -- reading ---------------------------------------------------------------------------------------
def read_deliveries(rows: Iterable[Row]) -> list[Delivery]:
    """One delivery from each run of rows that differ in their parts only."""
    return [_delivery(list(run)) for _, run in groupby(rows, itemgetter(0))]


def _delivery(rows: list[Row]) -> Delivery:
    width = len(_DELIVERY)
    values = dict(zip(_DELIVERY, rows[0], strict=False))
    values["target"] = loads(values["target"])
    parts = [
        Part(**dict(zip(_PART, row[width:], strict=True))) for row in rows if row[width] is not None
    ]
    return Delivery(**values, parts=tuple(parts))


read_verdict = reader(VerdictRow)
read_inbox = reader(InboxRow)
read_installation = reader(Installation, "org")
read_occurrence = reader(OccurrenceRow)


def read_document(row: Row) -> Document:
    kind, key, version, body, expires = row
    return Document(kind=kind, key=key, version=version, body=loads(body), expires=expires)


def read_known(rows: Iterable[Row]) -> Known:
    """Each row says first which of the four it is, and second its place in the order asked for."""
    verdict: VerdictRow | None = None
    pairs: list[Pair] = []
    bindings: list[Binding] = []
    claims: list[Claimed] = []
    for kind, _, *cells in rows:
        match kind:
            case "verdict":
                verdict = read_verdict(tuple(cells))
            case "binding":
                place, agent, session, turn, sort, at = cells[:6]
                found = Binding(
                    place=place, agent=agent, session=session, turn=turn, kind=sort, at=at
                )
                bindings.append(found)
            case "claim":
                claims.append(Claimed(**dict(zip(_CLAIMED, cells, strict=False))))
            case _:
                pairs.append(Pair(**dict(zip(_PAIR, cells, strict=False))))
    return Known(
        verdict=verdict, bindings=tuple(bindings), claims=tuple(claims), pairs=tuple(pairs)
    )


# -- writing what commits with a fact --------------------------------------------------------------
_verdict_made: Values = attrgetter(*names(VerdictMade))
_place_bound: Values = attrgetter(*names(PlaceBound))
_occurrence_kept: Values = attrgetter(*names(OccurrenceKept))


def _opened(row: DeliveryOpened) -> Row:
    target = dumps(row.target)
    head = (row.turn, row.part, row.source, target, row.lane)
    return (*head, row.request, row.remind_at, row.at)


def statement(row: Companion) -> tuple[str, Row] | None:
    """How a row of the ways in and out is written; ``None`` for other kinds."""
    match row:
        case VerdictMade():
            return SQL["verdict_made"], _verdict_made(row)
        case DeliveryOpened():
            return SQL["delivery_opened"], _opened(row)
        case DeliveryMark():
            return SQL["delivery_mark"], (row.turn, row.at)
        case PlaceBound():
            return SQL["place_bound"], _place_bound(row)
        case PairSeen():
            seen = SQL["pair_seen"], (row.pair, row.window, row.at)
            return (SQL["pair_reset"], (row.pair,)) if row.reset else seen
        case Held():
            given = (row.source, row.event_id, row.kind, row.body, row.next_try, row.at)
            return SQL["held"], given
        case OccurrenceKept():
            return SQL["occurrence_kept"], _occurrence_kept(row)
        case _:
            return None
