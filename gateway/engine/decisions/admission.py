"""Decisions about turns from outside the loop: accept, cancel, reset. Pure.

Each looks at the session under its lock and returns what to write; nothing here waits or sends.
"""

from __future__ import annotations

from typing import Literal

from gateway.engine import events as ev
from gateway.engine.decisions.closing import Closed, Ending, Scene, close
from gateway.engine.decisions.opening import Opening
from gateway.engine.decisions.telling import telling
from gateway.engine.errors import (
    BusyError,
    GatewayError,
    NotFoundError,
    SessionSuspendedError,
    TurnIdConflict,
)
from gateway.engine.kinds import OPEN_STATES, CancelReason, Millis, SessionRef
from gateway.engine.outcomes import Companions, Reset, Standing, Started
from gateway.engine.records import (
    NEW_TURN,
    NO_WRITES,
    CancelMark,
    Plan,
    SessionPatch,
    SessionRow,
    SessionView,
    TurnHead,
    TurnRecord,
    Writes,
)
from gateway.engine.struct import replace, struct
from gateway.engine.wire import message_from

Replace = bool | Literal["speaker"]


class ViewChanged(Exception):
    """The rows that were asked for aren't the ones the decision needs; ask again."""


@struct(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """A turn at the door. ``body``, ``content`` and ``content_hash`` are those of its ``Opening``."""

    turn_id: str
    opening: Opening
    body: str
    content: str
    content_hash: str
    replace: Replace
    when_suspended: Literal["raise", "queue"]
    deliver: bool
    companions: Companions
    failed: str | None = None
    queue_limit: int
    now: Millis


@struct(frozen=True, slots=True)
class Accepted:
    started: Started
    events: tuple[ev.TurnEvent, ...] = ()
    ended: tuple[str, ...] = ()
    """Turns that this acceptance ended."""
    interrupt: tuple[str, ...] = ()
    """Running turns to tell of their cancellation at once."""


@telling
def accept(view: SessionView, ref: SessionRef, asked: Acceptance) -> Plan[Accepted]:
    """Put a turn in line. ``writes.new_turn`` is set if it is new."""
    session = _existing(view)
    if view.turn is not None:
        return Plan(Accepted(_known(view.turn, view, asked)))
    if asked.when_suspended == "raise" and any(t.state == "suspended" for t in view.open):
        raise SessionSuspendedError(
            "this session waits for a person's answer",
            fix="answer or cancel the pending request first, or queue the turn behind it",
        )
    waiting = [t for t in view.open if t.state == "queued"]
    swept = _swept(view, session, asked)
    if len(waiting) - len(swept.ended) >= asked.queue_limit:
        raise BusyError(
            f"{len(waiting)} turns wait in this session already", fix="try again when one has ended"
        )
    record = TurnRecord(
        row=NEW_TURN,
        turn_id=asked.turn_id,
        number=session.next_number,
        generation=session.generation + (1 if session.reset_at is not None else 0),
        body=asked.body,
        content=asked.content,
        content_hash=asked.content_hash,
        source=asked.opening.source,
        speaker=None if asked.opening.speaker is None else asked.opening.speaker.id,
        queued_at=asked.now,
        delivers=asked.deliver,
    )
    position = len(view.open) - len(swept.ended)
    started = Started(turn_id=asked.turn_id, created=True, position=position)
    queued = ev.TurnQueued(turn_id=asked.turn_id, session=ref.key, at=asked.now, position=position)
    rows = asked.companions
    if callable(rows):
        parked = (head.turn_id for head in view.open if head.state == "suspended")
        ends = (*swept.ended, *swept.interrupt)
        rows = rows(Standing(position=position, waits_for=next(parked, None), replaces=ends))
    writes = replace(swept.writes, new_turn=record, companions=rows)
    accepted = Accepted(started, (*swept.events, queued), swept.ended, swept.interrupt)
    if asked.failed is None:
        return Plan(accepted, writes)
    closed = close(_unbegun(record, ref.key, asked.now), Ending.failed(asked.failed))
    events = (*writes.events, *closed.writes.events)
    return Plan(
        replace(accepted, events=(*accepted.events, *closed.events)),
        replace(writes, new_turn=closed.record, events=events),
    )


def _existing(view: SessionView) -> SessionRow:
    if view.session is None:
        raise GatewayError("the store showed no session although one was asked for")
    return view.session


def _known(turn: TurnRecord, view: SessionView, asked: Acceptance) -> Started:
    speaker = None if asked.opening.speaker is None else asked.opening.speaker.id
    if turn.content_hash != asked.content_hash or turn.speaker != speaker:
        raise TurnIdConflict(
            f"turn {turn.turn_id!r} exists with other content or another speaker",
            fix="use a new turn_id for a new message",
        )
    position = sum(1 for other in view.open if other.number < turn.number)
    return Started(turn_id=turn.turn_id, created=False, position=position)


# -- ending what is open ---------------------------------------------------------------------------
@struct(frozen=True, slots=True)
class _Swept:
    writes: Writes = NO_WRITES
    events: tuple[ev.TurnEvent, ...] = ()
    ended: tuple[str, ...] = ()
    interrupt: tuple[str, ...] = ()


def _fresh(head: TurnHead) -> bool:
    """Queued and never begun: it can be ended on the spot. One that has begun is ended by its
    owner at its next boundary, since it may owe results."""
    return head.state == "queued" and head.last_seq == 0


def _end(heads: list[TurnHead], session: SessionRow, reason: CancelReason, now: Millis) -> _Swept:
    closed = [_close_fresh(head, session, reason, now) for head in heads if _fresh(head)]
    marked = [head for head in heads if not _fresh(head) and head.state != "suspended"]
    return _Swept(
        Writes(
            turns=tuple(one.record for one in closed),
            events=tuple(row for one in closed for row in one.writes.events),
            cancels=tuple(
                CancelMark(turn=head.row, reason=reason, at=now)
                for head in marked
                if head.cancel is None
            ),
        ),
        tuple(event for one in closed for event in one.events),
        tuple(one.record.turn_id for one in closed),
        tuple(head.turn_id for head in marked),
    )


def _close_fresh(head: TurnHead, session: SessionRow, reason: CancelReason, now: Millis) -> Closed:
    record = TurnRecord(
        row=head.row,
        turn_id=head.turn_id,
        number=head.number,
        generation=head.generation,
        body="",
        content_hash="",
        source=head.source,
        speaker=head.speaker,
        queued_at=now,
        delivers=head.delivers,
    )
    return close(_unbegun(record, session.ref.key, now), Ending.cancelled(reason))


def _unbegun(record: TurnRecord, session: str, now: Millis) -> Scene:
    return Scene(
        record=record,
        session=session,
        generation=record.generation,
        messages=(),
        started=frozenset(),
        now=now,
    )


def _swept(view: SessionView, session: SessionRow, asked: Acceptance) -> _Swept:
    if not asked.replace:
        return _Swept()
    speaker = None if asked.opening.speaker is None else asked.opening.speaker.id
    heads = [
        head
        for head in view.open
        if asked.replace is True
        or (head.speaker == speaker and head.source == asked.opening.source)
    ]
    return _end(heads, session, "replaced", asked.now)


# -- cancel ------------------------------------------------------------------------------------------
@struct(frozen=True, slots=True)
class Ended:
    """What a cancel or reset did at once, and whom to tell."""

    events: tuple[ev.TurnEvent, ...] = ()
    ended: tuple[str, ...] = ()
    interrupt: tuple[str, ...] = ()
    reset: Reset | None = None
    generation: int = 0
    """The generation that a reset ends."""


@telling
def cancel(
    view: SessionView, ref: SessionRef, turn_id: str, reason: CancelReason, now: Millis
) -> Plan[Ended]:
    """A queued or parked turn ends here and now; a running one is asked to."""
    if view.session is None or view.turn is None:
        raise NotFoundError(f"no turn {turn_id!r} in this session")
    record = view.turn
    if record.state not in OPEN_STATES:
        return Plan(Ended())
    if record.state == "suspended":
        closed = _close_parked(view, record, ref, reason, now)
        return Plan(Ended(closed.events, (turn_id,)), closed.writes)
    heads = [head for head in view.open if head.turn_id == turn_id]
    swept = _end(heads, view.session, reason, now)
    return Plan(Ended(swept.events, swept.ended, swept.interrupt), swept.writes)


def _close_parked(
    view: SessionView, record: TurnRecord, ref: SessionRef, reason: CancelReason, now: Millis
) -> Closed:
    if record.request is not None and (view.request is None or view.request.id != record.request):
        raise ViewChanged
    scene = Scene(
        record=record,
        session=ref.key,
        generation=record.generation,
        messages=[message_from(row) for row in view.tail],
        started=frozenset(),
        request=view.request,
        now=now,
    )
    return close(scene, Ending.cancelled(reason))


# -- reset -------------------------------------------------------------------------------------------
@telling
def reset(view: SessionView, ref: SessionRef, now: Millis) -> Plan[Ended]:
    """Cancel everything, a park included, and raise the generation as soon as nothing runs.

    ``view.turn`` is the session's oldest open turn: the only one that can be parked.
    """
    session = _existing(view)
    swept = _end(list(view.open), session, "reset", now)
    writes, events, ended = swept.writes, swept.events, swept.ended
    if view.turn is not None and view.turn.state == "suspended":
        closed = _close_parked(view, view.turn, ref, "reset", now)
        writes = replace(
            closed.writes,
            turns=(*writes.turns, *closed.writes.turns),
            events=(*writes.events, *closed.writes.events),
            cancels=writes.cancels,
        )
        events, ended = (*events, *closed.events), (*ended, view.turn.turn_id)
    if swept.interrupt:
        patch = SessionPatch(reset_at=session.reset_at or now)
        told = Ended(events, ended, swept.interrupt, generation=session.generation)
        return Plan(told, replace(writes, session=patch))
    plan = apply_reset(session)
    writes = replace(writes, session=plan.writes.session)
    return Plan(Ended(events, ended, (), plan.result, session.generation), writes)


def apply_reset(session: SessionRow) -> Plan[Reset]:
    """The generation rises, the fence with it; no row is copied."""
    archived = Reset(
        previous_session=f"{session.ref.key}#g{session.generation}",
        generation=session.generation + 1,
    )
    patch = SessionPatch(
        epoch=session.epoch + 1, generation=session.generation + 1, clear_reset=True
    )
    return Plan(archived, Writes(session=patch))
