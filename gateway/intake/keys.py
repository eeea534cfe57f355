"""Dedupe keys: how long they hold, and which turn took them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from gateway.engine.kinds import Millis, TurnRow
from gateway.engine.ledger import Claimed, Known
from gateway.engine.records import Claim
from gateway.engine.records.companions import DAY

KEPT = Millis(14 * DAY)
"""Twice the week in which no platform that we know still repeats itself."""


def claims(keys: Iterable[str], at: Millis, turn: TurnRow | None = None) -> tuple[Claim, ...]:
    end = Millis(at + KEPT)
    return tuple(Claim(key=key, turn=turn, at=at, expires_at=end) for key in dict.fromkeys(keys))


def in_or_gone(post: str) -> str:
    """Taken by a post that had to wait when it is let in, or by its removal before that: by one of them."""
    return f"{post}:removed"


def deleted(post: str) -> str:
    """Taken by the removal of a post, whatever became of it until then: no later version is answered."""
    return f"{post}:deleted"


def held(known: Known, now: Millis) -> tuple[Claimed, ...]:
    """Keys that somebody has, and still will."""
    return tuple(claim for claim in known.claims if claim.expires_at > now)


def taker(known: Known) -> TurnRow | None:
    """The turn that an event's keys went to."""
    return next((claim.turn for claim in known.claims if claim.turn is not None), None)
