"""What becomes of a turn is told where its deliveries show it. Pure.

A place is never sent what happened, it is only told to look again. The mark that says so commits
together with the fact itself, whoever writes it: an attempt, a person, a timer, a sweep. So no crash
comes between the two, and nobody waits in a thread that has gone silent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from gateway.engine import events as ev
from gateway.engine.decisions.position import Owed
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.records import (
    DeliveryMark,
    DeliveryOpened,
    Plan,
    RequestRecord,
    SessionView,
    TurnRecord,
    Writes,
)
from gateway.engine.struct import replace

P = ParamSpec("P")
T = TypeVar("T")

TOLD = frozenset(
    kind.type
    for kind in (
        ev.InputRequested,
        ev.InputVoted,
        ev.InputAnswered,
        ev.TurnCompleted,
        ev.TurnFailed,
        ev.TurnCancelled,
        ev.TurnTimedOut,
    )
)
"""Events after which what is shown of their turn is out of date."""


# -- marks -------------------------------------------------------------------------------------------
def told(writes: Writes, turn: TurnRecord | None = None) -> Writes:
    """The writes, with a mark for each delivering turn of which they tell a ``TOLD`` event. ``turn``
    is one that they speak of without saving it."""
    shown = {one.row for one in writes.turns if one.delivers}
    if turn is not None and turn.delivers:
        shown.add(turn.row)
    if not shown:
        return writes
    marks = {
        event.turn: DeliveryMark(turn=event.turn, at=event.at)
        for event in writes.events
        if event.type in TOLD and event.turn in shown
    }
    if not marks:
        return writes
    return replace(writes, companions=(*writes.companions, *marks.values()))


def telling(
    decide: Callable[Concatenate[SessionView, P], Plan[T]],
) -> Callable[Concatenate[SessionView, P], Plan[T]]:
    """The same decision, with the marks that its writes need."""

    @wraps(decide)
    def deciding(view: SessionView, /, *args: P.args, **kwargs: P.kwargs) -> Plan[T]:
        plan = decide(view, *args, **kwargs)
        writes = told(plan.writes, view.turn)
        return plan if writes is plan.writes else replace(plan, writes=writes)

    return deciding


def call_ended(
    record: TurnRecord, answers: Iterable[RequestRecord], owed: Owed, now: Millis
) -> tuple[DeliveryMark, ...]:
    """A call that people decided on has come to its end: what they see says "running" until then.
    ``answers`` are the turn's requests of earlier attempts."""
    if not record.delivers:
        return ()
    asked = any((one.position, one.call_id) == (owed.position, owed.call.id) for one in answers)
    return (DeliveryMark(turn=record.row, at=now),) if asked else ()


# -- views -------------------------------------------------------------------------------------------
def lane_of(source: str, target: JsonObject) -> str:
    """What the deliveries of one place stand in line for: the lane that the target names, else the
    place's address."""
    lane = target.get("lane")
    return lane if isinstance(lane, str) else f"{source}:{target.get('address', '')}"


def card_part(request: str) -> str:
    """The part that shows one request."""
    return f"card:{request}"


def card_view(
    turn: TurnRecord,
    request: RequestRecord,
    *,
    answerers: JsonObject,
    approvals: Mapping[str, str],
    target: JsonObject | None,
) -> DeliveryOpened | None:
    """Where a request is to be decided on: the place that ``approvals`` names for its policy (for turns from
    this source, ``email:refunds``, or from any), else ``target``, the turn's own, if the turn delivers; else
    nowhere but where people look for it.

    Beside its turn it stands in line behind what the turn says. Elsewhere it has a lane of its own: one
    card that can't be shown mustn't keep all others from being decided on.
    """
    policy = str(answerers.get("policy"))
    routed = _routed(approvals.get(f"{turn.source}:{policy}") or approvals.get(policy))
    place = routed or (target if turn.delivers else None)
    if place is None:
        return None
    source = str(place.get("source", turn.source))
    return DeliveryOpened(
        turn=turn.row,
        part=card_part(request.id),
        source=source,
        target=place,
        lane=lane_of(source, place) + (f"#{request.id}" if routed else ""),
        request=request.id,
        at=request.created_at,
    )


def _routed(surface: str | None) -> JsonObject | None:
    """``slack:C0123`` as a target."""
    source, _, address = (surface or "").partition(":")
    return {"source": source, "address": address} if source and address else None
