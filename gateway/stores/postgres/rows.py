"""Rows as they come back → the engine's records. Columns stand in field order (``queries.sql``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from gateway.engine.kinds import Millis, SessionId, SessionRef
from gateway.engine.records import (
    Audit,
    AuditEntry,
    EventRow,
    LoggedEvent,
    MessageRow,
    OpenSession,
    RequestRecord,
    RequestSummary,
    SessionRow,
    SessionSummary,
    SessionView,
    StepRow,
    TurnHead,
    TurnRecord,
    TurnSummary,
    UsageRow,
    VoteRow,
)
from gateway.engine.struct import struct
from gateway.stores.postgres.text import restored

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Cells = Sequence[Any]
"""One row; only the driver knows its types, and the queries give them the record's."""

SESSION_COLUMNS = 12


def names_of(kind: type[DataclassInstance]) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind))


_TURN = names_of(TurnRecord)
_HEAD = names_of(TurnHead)
_MESSAGE = names_of(MessageRow)
_STEP = names_of(StepRow)
_EVENT = names_of(EventRow)
_USAGE = names_of(UsageRow)
_REQUEST = names_of(RequestRecord)
_VOTE = names_of(VoteRow)
_AUDIT = names_of(Audit)
_SESSION = tuple(name for name in names_of(SessionRow) if name != "ref")


def values_of(names: Iterable[str], cells: Cells) -> dict[str, Any]:
    return {
        name: restored(cell) if isinstance(cell, str) else cell
        for name, cell in zip(names, cells, strict=True)
    }


def _ref(agent: str, key: str) -> SessionRef:
    return SessionRef(restored(agent), restored(key))


def session_from(cells: Cells) -> SessionRow:
    ref = _ref(cells[1], cells[2])
    return SessionRow(ref=ref, **values_of(_SESSION, (cells[0], *cells[3:SESSION_COLUMNS])))


def head_from(cells: Cells) -> TurnHead:
    return TurnHead(**values_of(_HEAD, cells))


def turn_from(cells: Cells) -> TurnRecord:
    return TurnRecord(**values_of(_TURN, cells))


def message_from(cells: Cells) -> MessageRow:
    return MessageRow(**values_of(_MESSAGE, cells))


def step_from(cells: Cells) -> StepRow:
    return StepRow(**values_of(_STEP, cells))


def usage_from(cells: Cells) -> UsageRow:
    return UsageRow(**values_of(_USAGE, cells))


def request_from(cells: Cells) -> RequestRecord:
    return RequestRecord(**values_of(_REQUEST, cells))


def vote_from(cells: Cells) -> VoteRow:
    return VoteRow(**values_of(_VOTE, cells))


@struct(frozen=True, slots=True)
class Look:
    """A view, and what it takes to write under it. ``new``: the session isn't there yet; its row is
    what it will be."""

    view: SessionView
    version: int
    new: bool


def look_from(cells: Cells, ref: SessionRef) -> Look:
    heads, chosen, tail, steps, asked, votes, version, number, now = cells[SESSION_COLUMNS:]
    if cells[0] is None:
        return Look(SessionView(session=_new_session(number, ref, now)), 0, number is not None)
    view = SessionView(
        session=session_from(cells),
        open=tuple([head_from(one) for one in heads]),
        turn=turn_from(chosen) if chosen is not None else None,
        tail=tuple([message_from(one) for one in tail or ()]),
        steps=tuple([step_from(one) for one in steps or ()]),
        request=request_from(asked) if asked is not None else None,
        votes=tuple([vote_from(one) for one in votes or ()]),
    )
    return Look(view, version, new=False)


def _new_session(number: int | None, ref: SessionRef, now: int) -> SessionRow | None:
    if number is None:
        return None
    return SessionRow(
        id=SessionId(number),
        ref=ref,
        generation=0,
        epoch=0,
        owner=None,
        owner_alive=False,
        next_index=0,
        next_number=1,
        created_at=Millis(now),
        active_at=Millis(now),
    )


def events_from(rows: Iterable[Cells]) -> list[LoggedEvent]:
    """A message that several events point at is sent once, with the first of them."""
    seen: dict[int, MessageRow] = {}
    found: list[LoggedEvent] = []
    for cells in rows:
        event = EventRow(**values_of(_EVENT, cells[:6]))
        said = None
        if event.ref is not None and cells[7] is not None:
            said = seen.get(event.ref) or message_from(cells[6:12])
            seen[event.ref] = said
        spent = usage_from(cells[12:]) if cells[12] is not None else None
        found.append(LoggedEvent(event=event, message=said, usage=spent))
    return found


def open_session_from(cells: Cells) -> OpenSession:
    agent, key, owner, alive, resetting = cells
    return OpenSession(
        ref=_ref(agent, key),
        owner=None if owner is None else restored(owner),
        owner_alive=alive,
        resetting=resetting,
    )


def session_summary_from(cells: Cells) -> SessionSummary:
    status, turns, pending = cells[SESSION_COLUMNS:]
    return SessionSummary(row=session_from(cells), status=status, turns=turns, pending=pending)


def turn_summary_from(cells: Cells) -> TurnSummary:
    opening = cells[2:8]
    return TurnSummary(
        ref=_ref(cells[0], cells[1]),
        turn=turn_from(cells[8:]),
        opening=message_from(opening) if opening[0] is not None else None,
    )


def request_summary_from(cells: Cells) -> RequestSummary:
    ref, votes = _ref(cells[0], cells[1]), cells[2]
    return RequestSummary(ref=ref, request=request_from(cells[3:]), votes=votes)


def due_request_from(cells: Cells) -> tuple[SessionRef, RequestRecord]:
    return _ref(cells[0], cells[1]), request_from(cells[2:])


def audit_from(cells: Cells) -> AuditEntry:
    return AuditEntry(number=cells[0], row=Audit(**values_of(_AUDIT, cells[1:])))
