"""The breaker: two bots that answer each other are let go round so often, and no more. Pure.

The count stands in the store, so a restart forgets nothing. A person who speaks in the thread puts
it back to nothing.
"""

from __future__ import annotations

from gateway.engine.kinds import Millis
from gateway.engine.ledger import Pair
from gateway.engine.records.companions import DAY

ROUNDS = 4
"""Messages of one bot in one thread that are answered while no person says anything."""


def goes_round(pair: Pair | None, now: Millis) -> bool:
    """Whether the next message of this bot is one too many."""
    return pair is not None and pair.n >= ROUNDS and pair.first_at >= now - DAY
