"""A turn as its renderer may know it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

from channels.protocol import Card, TurnView
from gateway.engine.decisions.closing import error_record
from gateway.engine.decisions.opening import Opening, opening_from
from gateway.engine.errors import NotFoundError
from gateway.engine.kinds import OPEN_STATES, CancelReason, SessionRef, TurnState
from gateway.engine.ledger import Delivery
from gateway.engine.records import Ask, Plan, SessionView, TurnHead, TurnRecord
from gateway.engine.runtime import Runtime
from gateway.outbox.reference import reference_of


async def turn_view(
    runtime: Runtime, delivery: Delivery, card: Callable[[str], Awaitable[Card | None]]
) -> TurnView:
    """The delivery's turn as it stands now. Raises ``NotFoundError``."""
    record = await turn_of(runtime, delivery)
    opening = opening_from(record.body)
    behind = await _parked_before(runtime, delivery, record)
    return TurnView(
        turn_id=record.turn_id,
        state=record.state,
        reference=reference_of(record.turn_id),
        speaker=opening.speaker,
        event=opening.event,
        cancelled=_cancelled(record),
        behind=None if behind is None else await card(behind),
        schedule=_schedule(opening),
    )


async def turn_ahead(runtime: Runtime, delivery: Delivery, record: TurnRecord) -> TurnState | None:
    """In which state the first turn is that this one waits behind; ``None`` for one that has begun, or
    is the next to. An answered one stands in line again before it goes on, so all are read at once."""
    if record.state != "queued":
        return None
    heads: tuple[TurnHead, ...] = await runtime.store.amend(
        _ref(delivery), Ask(lock="mailbox"), _open
    )
    first = heads[0] if heads else None
    return None if first is None or first.turn_id == delivery.turn_id else first.state


def _open(view: SessionView) -> Plan[tuple[TurnHead, ...]]:
    return Plan(view.open)


async def turn_of(runtime: Runtime, delivery: Delivery) -> TurnRecord:
    record = await runtime.store.turn(_ref(delivery), delivery.turn_id)
    if record is None:
        raise NotFoundError(f"no turn {delivery.turn_id!r} in this session")
    return record


async def _parked_before(runtime: Runtime, delivery: Delivery, record: TurnRecord) -> str | None:
    """The request that an earlier turn of the session is parked on, while this one is in line behind
    it."""
    if record.state != "queued":
        return None
    parked = await runtime.store.list_turns(ref=_ref(delivery), state="suspended", limit=1)
    return parked[0].turn.request if parked else None


def _schedule(opening: Opening) -> str:
    kind, _, name = (opening.by or "").partition(":")
    return name if opening.trigger == "proactive" and kind == "cron" else ""


def _ref(delivery: Delivery) -> SessionRef:
    return SessionRef(delivery.agent, delivery.session)


def _cancelled(record: TurnRecord) -> CancelReason | None:
    """Why it was ended, or is about to be."""
    if record.state in OPEN_STATES:
        return record.cancel
    if record.state != "cancelled":
        return None
    return cast("CancelReason", (error_record(record) or {}).get("reason", "requested"))
