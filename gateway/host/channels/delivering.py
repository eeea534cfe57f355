"""A turn that somebody asks to be delivered: where to, by whom, and whether that can be done here."""

from __future__ import annotations

from channels.protocol import REPLY
from gateway.engine.decisions.telling import lane_of
from gateway.engine.errors import DeliverUnsupportedError, InvalidInputError
from gateway.engine.kinds import Millis
from gateway.engine.outcomes import Standing, TurnInput
from gateway.engine.records import NEW_TURN, Companion, DeliveryOpened
from gateway.engine.runtime import Runtime
from gateway.engine.session import Session
from gateway.engine.struct import replace
from gateway.host.channels.registry import Registry


def delivered_by(given: TurnInput) -> str:
    """The channel that a turn is rendered by: the one its target names, else its own source's."""
    named = (given.target or {}).get("source")
    return named if isinstance(named, str) else given.source


def with_delivery(given: TurnInput, now: Millis) -> TurnInput:
    """The same turn with a view of it opened where it is to be shown. Raises ``InvalidInputError``
    without a target."""
    target = given.target
    if not target:
        raise InvalidInputError(
            "it doesn't say where this turn is to be delivered; nothing was started",
            fix='give it a target, such as {"source": "slack", "address": "C0123"}',
        )
    source = delivered_by(given)
    opened = DeliveryOpened(
        turn=NEW_TURN,
        part=REPLY,
        source=source,
        target=target,
        lane=lane_of(source, target),
        at=now,
    )
    own = given.companions

    def rows(standing: Standing) -> tuple[Companion, ...]:
        return (*(own(standing) if callable(own) else own), opened)

    return replace(given, deliver=True, companions=rows)


async def check_delivered(
    runtime: Runtime, registry: Registry, session: Session, turn_id: str
) -> None:
    """Raises ``DeliverUnsupportedError`` for a turn that nobody here shows to anybody."""
    rows = [
        row
        for row in await runtime.store.ledger.deliveries(turn_id=turn_id)
        if (row.agent, row.session) == (session.ref.agent, session.ref.key)
    ]
    for row in rows:
        registry.check_delivers(row.source)
    if not rows:
        registry.check_delivers(None)
        raise DeliverUnsupportedError(
            "this turn was started without a delivery; nothing was answered",
            fix="answer without deliver, and follow the turn's events",
        )
