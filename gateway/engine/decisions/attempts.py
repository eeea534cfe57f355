"""How an attempt takes hold of a session's next turn. Pure.

Every attempt first raises the session's epoch and commits; only then does it read the transcript.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import field
from typing import TypedDict

from gateway.engine import events as ev
from gateway.engine.decisions.admission import (
    Acceptance,
    Accepted,
    ViewChanged,
    accept,
    apply_reset,
)
from gateway.engine.decisions.closing import (
    Ending,
    Scene,
    close,
    unappended,
    unknown_outcomes,
)
from gateway.engine.decisions.keys import keys_of
from gateway.engine.decisions.opening import Opening, opening_from
from gateway.engine.decisions.policy import FrozenSurface, Terms, surface_from
from gateway.engine.decisions.position import AskModel, Move, RunCalls, next_move
from gateway.engine.decisions.preparing import Unprepared, needs_reading, unprepared
from gateway.engine.decisions.telling import telling
from gateway.engine.errors import StaleAttemptError
from gateway.engine.kinds import Begins, Millis, SessionRef, TurnRow
from gateway.engine.messages import Message
from gateway.engine.model import Edition
from gateway.engine.outcomes import Reset
from gateway.engine.ports import Prepared
from gateway.engine.records import (
    EditionRow,
    EventRow,
    Fence,
    Plan,
    SessionPatch,
    SessionRow,
    SessionView,
    StepRow,
    TurnRecord,
    Writes,
)
from gateway.engine.struct import replace, struct
from gateway.engine.tool import Tool
from gateway.engine.wire import message_from, message_row
from gateway.engine.wire.events import event_row


@struct(frozen=True, slots=True, kw_only=True)
class Taker:
    """Who takes hold of the turn, and by which rules."""

    ref: SessionRef
    editions: Callable[[str, Begins], Terms]
    """The surface and edition that a new turn of a source gets today, by how it begins."""
    stored: Container[str]
    """Editions known to be in the store."""
    owner: str
    max_attempts: int
    alone: bool
    """Nothing else runs in the process while this attempt does."""
    only: str | None = None
    """The one turn that is meant, where not just any: it may have ended meanwhile."""
    sees_tail: bool = False
    """The view holds the turn's tail, which only giving up and what broke off need."""
    tools: Mapping[str, Tool] = field(default_factory=dict[str, Tool])
    """To tell an operator the keys of calls whose outcome is unknown."""
    preparers: Container[str] = frozenset[str]()
    """Sources whose events may want something read before their turn begins."""
    prepared: Mapping[str, Prepared] = field(default_factory=dict[str, Prepared])
    """What was read, by turn."""
    stopping: Callable[[], bool] = bool
    """Whether the process is on its way out by now, and begins nothing new."""
    now: Millis


@struct(frozen=True, slots=True, kw_only=True)
class Begun:
    """An attempt has the turn. ``warm_epoch`` is the epoch before it: a transcript loaded under
    that epoch is still whole but for ``opened``."""

    record: TurnRecord
    opening: Opening
    surface: FrozenSurface
    edition: Edition | None
    """The edition when this attempt opened the turn; else it is read by ``record.edition``."""
    fence: Fence
    warm_epoch: int
    generation: int
    opened: Message | None
    events: tuple[ev.TurnEvent, ...]
    behind: int
    """How many other turns wait behind this one."""
    fresh: bool


@struct(frozen=True, slots=True)
class GaveUp:
    """The turn crashed the process too often and is ended."""

    record: TurnRecord
    ending: Ending
    events: tuple[ev.TurnEvent, ...]
    behind: int


Taken = Begun | GaveUp | Reset | Unprepared | None


@telling
def begin(view: SessionView, by: Taker) -> Plan[Taken]:
    """Take the session's oldest open turn, unless it is parked or somebody else's."""
    session, record = view.session, view.turn
    if session is None:
        return Plan(None)
    if by.only is not None and (record is None or record.turn_id != by.only):
        return Plan(None)
    resetting = session.reset_at is not None
    if resetting and not any(t.generation == session.generation for t in view.open):
        plan = apply_reset(session)
        return Plan(plan.result, plan.writes)
    if record is None or record.state == "suspended":
        return Plan(None)
    foreign = record.state == "running" and session.owner not in {by.owner, None}
    if foreign and session.owner_alive:
        return Plan(None)
    broken_off = record.attempt_at is not None
    if not by.sees_tail and (broken_off or record.crashes >= by.max_attempts):
        raise ViewChanged
    if broken_off:
        record = blame(record, view.steps, only=False) if foreign else broke_off(record, view.steps)
    if record.crashes >= by.max_attempts:
        return _give_up(view, session, record, by)
    return _take(view, session, record, by)


@struct(frozen=True, slots=True)
class Entered:
    """A turn was accepted, and begun in the same transaction if nothing stood before it."""

    accepted: Accepted
    begun: Begun | None = None


def enter(view: SessionView, ref: SessionRef, asked: Acceptance, by: Taker | None) -> Plan[Entered]:
    """Accept a turn; if its session rests and ``by`` may run it, take hold of it at once."""
    plan = accept(view, ref, asked)
    record, session = plan.writes.new_turn, view.session
    rests = session is not None and session.reset_at is None and not view.open
    runs = rests and asked.failed is None
    if by is None or by.stopping() or record is None or session is None or not runs:
        return Plan(Entered(plan.result), plan.writes)
    if needs_reading(asked.opening, by.preparers):
        return Plan(Entered(plan.result), plan.writes)
    begun, writes = _hold(view, session, record, by, asked.opening)
    writes = replace(
        writes,
        new_turn=begun.record,
        turns=(),
        opened=(),
        companions=plan.writes.companions,
    )
    return Plan(Entered(plan.result, begun), writes, named=_numbered)


def _numbered(entered: Entered, row: TurnRow) -> Entered:
    begun = entered.begun
    if begun is None:
        return entered
    return Entered(entered.accepted, replace(begun, record=replace(begun.record, row=row)))


def broke_off(record: TurnRecord, steps: Iterable[StepRow]) -> TurnRecord:
    """An attempt didn't live to let go of the turn. It ran until its last write at least, and that
    much counts toward the turn's ceiling; how long it went on is known to nobody."""
    began = record.attempt_at
    if began is None:
        return record
    ran = max((step.at for step in steps), default=began) - began
    return replace(record, attempt_at=None, ran=Millis(record.ran + max(0, ran)))


def blame(record: TurnRecord, steps: Iterable[StepRow], *, only: bool) -> TurnRecord:
    """A process died while it drove this turn. If nothing else ran, it is the turn's doing; among
    several, each is a suspect."""
    record = replace(broke_off(record, steps), alone=False)
    if only:
        return replace(record, crashes=record.crashes + 1)
    return replace(record, suspect=record.suspect + 1)


def must_run_alone(record: TurnRecord) -> bool:
    """Whether the retry after a crash gets the process to itself: a known culprit does, and so
    does a suspect that is found a second time."""
    return record.crashes > 0 or record.suspect > 1


def blame_running(view: SessionView, owner: str, *, only: bool) -> Plan[TurnRecord | None]:
    """At start: put a turn whose process died back in line, with its share of the blame."""
    session, record = view.session, view.turn
    if session is None or record is None or record.state != "running":
        return Plan(None)
    if session.owner == owner or session.owner_alive:
        return Plan(None)
    if record.attempt_at is None:
        return Plan(record)
    blamed = blame(record, view.steps, only=only or record.alone)
    return Plan(
        blamed, Writes(session=SessionPatch(epoch=session.epoch + 1, release=True), turns=(blamed,))
    )


def accompany(view: SessionView, fence: Fence) -> Plan[None]:
    """Others run beside this attempt from here on: if the process dies now, it is one of several."""
    session, record = view.session, view.turn
    if session is None or session.epoch != fence.epoch:
        return Plan(None)
    if record is None or record.state != "running" or not record.alone:
        return Plan(None)
    return Plan(None, Writes(turns=(replace(record, alone=False),)))


def let_go(view: SessionView, fence: Fence, ran: Millis) -> Plan[TurnRecord | None]:
    """Leave the turn at its last checkpoint, on purpose: the next process owes it no suspicion. What
    the attempt last wrote may have ended it after all; then there is nothing to leave."""
    session, record = view.session, view.turn
    if session is None or session.epoch != fence.epoch:
        raise StaleAttemptError
    if record is None or record.state != "running":
        return Plan(None)
    record = replace(record, attempt_at=None, ran=ran, alone=False)
    return Plan(record, Writes(session=SessionPatch(release=True), turns=(record,)))


def _patch(session: SessionRow, by: Taker) -> SessionPatch:
    return SessionPatch(epoch=session.epoch + 1, owner=by.owner)


class _Opened(TypedDict, total=False):
    """What a turn row gets when its first attempt opens it."""

    content: None
    surface: str
    edition: str
    opening: int
    started_at: Millis


def _take(view: SessionView, session: SessionRow, record: TurnRecord, by: Taker) -> Plan[Taken]:
    opening = opening_from(record.body, record.content)
    if record.opening is None and needs_reading(opening, by.preparers):
        prepared = by.prepared.get(record.turn_id)
        if prepared is None:
            return Plan(unprepared(view, session, record, opening, by.ref))
        opening = opening.after(prepared.before, prepared.trust)
    begun, writes = _hold(view, session, record, by, opening)
    return Plan(begun, writes)


def _hold(
    view: SessionView, session: SessionRow, record: TurnRecord, by: Taker, opening: Opening
) -> tuple[Begun, Writes]:
    resumed = record.request is not None
    events: list[ev.TurnEvent] = []
    message: Message | None = None
    edition: Edition | None = None
    first: _Opened = {}
    if record.opening is None:
        surface, edition = by.editions(record.source, opening.trigger)
        message = opening.message(session.next_index, record.turn_id, edition.hash)
        first = {
            "content": None,
            "surface": surface.body(),
            "edition": edition.hash,
            "opening": session.next_index,
            "started_at": by.now,
        }
    else:
        surface = surface_from(record.surface or "")
    if message is not None or resumed:
        events.append(
            ev.TurnStarted(
                turn_id=record.turn_id,
                session=by.ref.key,
                at=by.now,
                seq=record.last_seq + 1,
                trigger="resume" if resumed else opening.trigger,
                by=opening.by or (None if opening.speaker is None else opening.speaker.id),
            )
        )
    record = replace(
        record,
        state="running",
        attempt_at=by.now,
        attempts=record.attempts + 1,
        alone=by.alone,
        request=None,
        last_seq=record.last_seq + len(events),
        **first,
    )
    rows: tuple[EventRow, ...] = tuple([event_row(event, record.row) for event in events])
    writes = Writes(
        session=_patch(session, by),
        messages=() if message is None else (message_row(message, session.generation, record.row),),
        events=rows,
        turns=(record,),
        opened=() if message is None else (record,),
        editions=()
        if edition is None or edition.hash in by.stored
        else (EditionRow(hash=edition.hash, body=edition.body),),
    )
    begun = Begun(
        record=record,
        opening=opening,
        surface=surface,
        edition=edition,
        fence=Fence(session.id, session.epoch + 1),
        warm_epoch=session.epoch,
        generation=session.generation,
        opened=message,
        events=tuple(events),
        behind=max(0, len(view.open) - 1),
        fresh=message is not None,
    )
    return begun, writes


def _give_up(view: SessionView, session: SessionRow, record: TurnRecord, by: Taker) -> Plan[Taken]:
    messages = [message_from(row) for row in view.tail]
    move = next_move_of(messages, record)
    phase, step = ("model", None)
    match move:
        case RunCalls(owed=owed):
            phase, step = "tool", owed[0].step
        case AskModel():
            step = move.step
        case _:
            pass
    started = [row.step for row in view.steps if row.lost]
    scene = Scene(
        record=record,
        session=by.ref.key,
        generation=session.generation,
        messages=messages,
        started=frozenset(started),
        keys=keys_of(by.ref, messages, started, by.tools),
        stored=unappended(view.steps),
        now=by.now,
    )
    ending = Ending.failed(
        f"the process died {record.crashes} times while this turn ran alone", phase=phase, step=step
    )
    closed = close(scene, ending)
    audits = unknown_outcomes(by.ref, record, started, by.now)
    return Plan(
        GaveUp(closed.record, ending, closed.events, behind=len(view.open) - 1),
        replace(closed.writes, session=_patch(session, by), companions=audits),
    )


def next_move_of(tail: list[Message], record: TurnRecord) -> Move:
    """The move from a tail of the transcript (it starts at the turn's last assistant message)."""
    if not tail:
        return AskModel((record.opening or 0) + 1)
    return next_move(tail, record.turn_id)
