"""Rows and short cuts for the ledger's suite: a turn with a view, who claims it, how it is settled."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.engine.kinds import Millis, SessionRef
from gateway.engine.ledger import Delivery, Ledger, Part, Receipt, Retention, SettledState
from gateway.engine.ports import SessionStore
from gateway.engine.records import (
    NEW_TURN,
    Ask,
    DeliveryMark,
    DeliveryOpened,
    Held,
    Plan,
    TurnRecord,
    VerdictMade,
    Writes,
)
from gateway.engine.struct import replace
from tests.conformance.store_kit import REF, T0, accept, at

LANE = "slack:T1:C1:1700000000.000100"
LONG = Millis(60_000)
LAPSED = Millis(0)
"""A lease that is over when it begins."""
SLACK = ("slack",)


class WithLedger:
    """Where every group of promises gets the ledger from."""

    @pytest.fixture
    def ledger(self, store: SessionStore) -> Ledger:
        return store.ledger


def opened(part: str = "reply", **changes: Any) -> DeliveryOpened:
    row = DeliveryOpened(
        turn=NEW_TURN, part=part, source="slack", target={"channel": "C1"}, lane=LANE, at=T0
    )
    return replace(row, **changes)


async def begun(
    store: SessionStore, turn_id: str = "t1", *rows: DeliveryOpened, ref: SessionRef = REF
) -> TurnRecord:
    """An accepted turn with these views, or with one reply."""
    return await accept(store, ref, turn_id, companions=rows or (opened(),))


async def view_of(ledger: Ledger, turn_id: str = "t1", part: str = "reply") -> Delivery:
    (found,) = [row for row in await ledger.deliveries(turn_id=turn_id) if row.part == part]
    return found


async def take(
    ledger: Ledger, now: int = 0, *, lease: Millis = LONG, owner: str = "host-a", limit: int = 10
) -> list[Delivery]:
    return list(await ledger.claim(owner, SLACK, at(now), lease, limit))


async def take_one(ledger: Ledger, now: int = 0, *, lease: Millis = LONG) -> Delivery:
    (found,) = await take(ledger, now, lease=lease)
    return found


def receipt(held: Delivery, state: SettledState = "resting", **changes: Any) -> Receipt:
    row = Receipt(
        delivery=held.id, token=held.token, satisfied=held.wanted, state=state, seq=held.seq
    )
    return replace(row, **changes)


def part(held: Delivery, n: int = 1, **changes: Any) -> Part:
    row = Part(
        delivery=held.id, n=n, kind="stream", state="opening", nonce=f"nonce-{n}", opened_at=at(1)
    )
    return replace(row, **changes)


async def mark(store: SessionStore, turn: TurnRecord, now: int = 0) -> None:
    """Something about the turn is to be told."""
    writes = Writes(companions=(DeliveryMark(turn=turn.row, at=at(now)),))
    await store.amend(REF, Ask(), lambda _: Plan(None, writes))


def judged(event: str = "E1", word: str = "accepted", **changes: Any) -> VerdictMade:
    row = VerdictMade(source="slack", event_id=event, verdict=word, rule="mention", at=T0)
    return replace(row, **changes)


def held(event: str = "E1", **changes: Any) -> Held:
    row = Held(source="slack", event_id=event, kind="answer", body='{"v":1}', at=T0)
    return replace(row, **changes)


def before(now: int, **changes: Any) -> Retention:
    """Everything that is older than this moment."""
    row = Retention(
        claims=at(now),
        verdicts=at(now),
        inbox=at(now),
        deliveries=at(now),
        places=at(now),
        pairs=at(now),
        files=at(now),
        documents=at(now),
        occurrences=at(now),
    )
    return replace(row, **changes)
