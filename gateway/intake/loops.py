"""The breakers: two that answer each other are let go round so often, and no more. Pure.

The counts stand in the store, so a restart forgets nothing. Where a platform says who is a bot, a person who
speaks in the thread puts the count back to nothing; mail doesn't say, so it has budgets for everybody.
"""

from __future__ import annotations

from collections.abc import Iterable

from channels.contract import Budget
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Pair
from gateway.engine.records.companions import DAY

TOO_MANY = "too-many"
ROUNDS = 4
"""Messages of one bot in one thread that are answered while no person says anything."""


def goes_round(pairs: Iterable[Pair], name: str | None, now: Millis) -> bool:
    """Whether the next message of this bot is one too many."""
    return any(
        pair.pair == name and pair.n >= ROUNDS and pair.first_at >= now - DAY for pair in pairs
    )


def overspent(pairs: Iterable[Pair], budgets: Iterable[Budget], now: Millis) -> str:
    """The rule by which the next message is one too many; empty if it isn't."""
    had = {pair.pair: pair for pair in pairs}
    for budget in budgets:
        pair = had.get(budget.key)
        if pair is not None and pair.n >= budget.most and pair.first_at >= now - budget.window:
            return TOO_MANY
    return ""
