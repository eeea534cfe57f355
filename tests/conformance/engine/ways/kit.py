"""Turns that are shown somewhere, and what is known of where."""

from __future__ import annotations

from typing import Any

from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.ledger import Delivery, Receipt
from gateway.engine.outcomes import TurnInput, TurnResult
from gateway.engine.records import NEW_TURN, DeliveryOpened
from gateway.engine.session import Session
from tests.conformance.engine.cast import REQUEST
from tests.conformance.engine.kit import (
    EPOCH,
    SLACK,
    Bench,
    soon,
)

LANE = "slack:T1:C1:1.2"
PLACE: JsonObject = {"source": "slack", "lane": LANE, "channel": "C1", "thread": "1.2"}


def shown(turn_id: str = "t1", message: str = "go", **more: Any) -> TurnInput:
    """A turn that is told in a thread."""
    reply = DeliveryOpened(
        turn=NEW_TURN, part="reply", source="slack", target=PLACE, lane=LANE, at=EPOCH
    )
    given: dict[str, Any] = {
        "speaker": SLACK, "source": "slack", "event": REQUEST, "target": PLACE, "deliver": True,
        "companions": (reply,),
    }  # fmt: skip
    return TurnInput(message=message, turn_id=turn_id, **(given | more))


async def rest(session: Session, given: TurnInput) -> TurnResult:
    started = await session.start(given, when_suspended="queue")
    return await soon(session.result(started.turn_id))


async def rows(bench: Bench, turn_id: str = "t1") -> list[Delivery]:
    """The turn's deliveries, the oldest first."""
    found = await bench.store.ledger.deliveries(turn_id=turn_id)
    return sorted(found, key=lambda row: row.id)


async def wanted(bench: Bench, turn_id: str = "t1") -> list[tuple[str, int]]:
    """How often each part was asked for: once when it was opened, and once per mark."""
    return [(row.part.partition(":")[0], row.wanted) for row in await rows(bench, turn_id)]


async def show(bench: Bench) -> None:
    """Whoever delivers has shown all there is, and rests."""
    ledger = bench.store.ledger
    now, lease = Millis(EPOCH * 2), Millis(60_000)
    while found := await ledger.claim("sender", ("slack",), now, lease, 10):
        for row in found:
            given = {"delivery": row.id, "token": row.token, "satisfied": row.wanted}
            await ledger.settle(Receipt(**given, state="resting", seq=row.seq))  # type: ignore[arg-type]
