"""What model calls cost: a row for each, also for one that came to nothing, and the turn's sums."""

from __future__ import annotations

from decimal import Decimal

from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.model import Usage
from gateway.engine.records import UsageRow, Writes
from gateway.engine.steps.attempt import Attempt
from gateway.engine.wire import cost_text, dumps


async def bill_lost(attempt: Attempt, usage: Usage | None) -> None:
    """Keep what a call cost that gave no reply to commit. It has no step to commit with, so it goes
    in at once: the next try, or the turn's end, may never come."""
    if usage is None:
        return
    place = -(attempt.calls + 1)
    row = usage_row(attempt, place, usage, attempt.now())
    await attempt.commit(Writes(usage=(row,)), (), ())
    charge(attempt, usage)


def charge(attempt: Attempt, usage: Usage) -> None:
    """Add a call to the turn's sums."""
    attempt.calls += 1
    attempt.usage = added(attempt.usage, usage)


def usage_row(attempt: Attempt, step: int, usage: Usage, now: Millis) -> UsageRow:
    return UsageRow(
        turn=attempt.record.row,
        step=step,
        at=now,
        model=usage.model or attempt.edition.model,
        input=usage.input,
        output=usage.output,
        cache_read=usage.cache_read,
        cache_write=usage.cache_write,
        cost=cost_text(usage),
        prices=usage.prices or None,
        raw=None if usage.raw is None else dumps(usage.raw),
        estimated=usage.estimated,
    )


def added(sum_: Usage, one: Usage) -> Usage:
    """Sums of a turn. A call without a known price leaves the sum without one only if none had."""
    cost = (
        sum_.cost if one.cost is None else one.cost if sum_.cost is None else sum_.cost + one.cost
    )
    return Usage(
        model=one.model or sum_.model,
        input=sum_.input + one.input,
        output=sum_.output + one.output,
        cache_read=sum_.cache_read + one.cache_read,
        cache_write=sum_.cache_write + one.cache_write,
        cost=cost,
    )


def usage_so_far(sums: JsonObject) -> tuple[Usage, int]:
    """What earlier attempts of the turn cost, and how many calls that were."""

    def count(name: str) -> int:
        value = sums.get(name)
        return value if isinstance(value, int) else 0

    cost = sums.get("cost")
    spent = Usage(
        input=count("input"),
        output=count("output"),
        cache_read=count("cache_read"),
        cache_write=count("cache_write"),
        cost=None if cost is None else Decimal(str(cost)),
    )
    return spent, count("calls")
