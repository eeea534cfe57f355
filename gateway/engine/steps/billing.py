"""What model calls cost: a row for each, also for one that came to nothing, and the turn's sums.

An adapter says what a call cost, and it may be anybody's. What of that can't be kept is logged as a mistake
of the adapter's and marks the row as estimated: an answer isn't lost over its bill.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from decimal import Decimal
from typing import TypeVar, cast

from gateway.engine.errors import ModelError
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.model import Meter, ModelReply, Usage
from gateway.engine.records import UsageRow, Writes
from gateway.engine.schema import to_json
from gateway.engine.steps.attempt import Attempt
from gateway.engine.steps.foreign import passes_on
from gateway.engine.steps.signals import TurnStopped
from gateway.engine.wire import clean, cost_text, dumps

log = logging.getLogger("gateway.engine")

MOST_TOKENS = 2**53
"""Of one call. Readers in JavaScript know no larger whole number, and a turn's sum still fits its column."""
MOST_DOLLARS = 10**12
MOST_DECIMALS = 1100
"""A ``Decimal`` made of a float has as many at most."""
FIX = f"give Usage whole numbers from 0 to {MOST_TOKENS}, its cost as a Decimal ≥ 0 or None, and raw as JSON"

T = TypeVar("T")


async def bill_lost(attempt: Attempt, usage: Usage | None) -> None:
    """Keep what a call cost that gave no reply to commit. It has no step to commit with, so it goes
    in at once: the next try, or the turn's end, may never come."""
    if usage is None:
        return
    usage = kept_usage(attempt, usage)
    place = -(attempt.calls + 1)
    row = usage_row(attempt, place, usage, attempt.now())
    await attempt.commit(Writes(usage=(row,)), (), ())
    charge(attempt, usage)


def spent(
    why: ModelError | TurnStopped | None, reply: ModelReply | None, meter: Meter | None
) -> Usage | None:
    """What the call cost: who raised the error knows best, and a stop may come after the reply."""
    if isinstance(why, ModelError) and why.usage is not None:
        return why.usage
    if reply is not None:
        return reply.usage
    try:
        return None if meter is None else meter.read()
    except BaseException as error:
        if passes_on(error):
            raise
        log.exception("the model adapter can't tell what a call cost; it isn't billed")
        return None


def kept_usage(attempt: Attempt, said: object) -> Usage:
    """As much of what the adapter says as can be kept."""
    wrong: list[str] = []

    def read(name: str, convert: Callable[[object], T], otherwise: T) -> T:
        try:
            return convert(getattr(said, name))
        except BaseException as error:
            if passes_on(error):
                raise
            wrong.append(f"{name}: {error}" if isinstance(error, _NotKept) else name)
            return otherwise

    if isinstance(said, Usage):
        usage = Usage(
            model=read("model", _text, ""),
            input=read("input", _count, 0),
            output=read("output", _count, 0),
            cache_read=read("cache_read", _count, 0),
            cache_write=read("cache_write", _count, 0),
            cost=read("cost", _cost, None),
            prices=read("prices", _text, ""),
            raw=read("raw", _raw, None),
            estimated=read("estimated", bool, otherwise=True) or bool(wrong),
        )
    else:
        usage = Usage(estimated=True)
        wrong.append(f"it is of type {type(said).__name__}, not a Usage")
    if wrong:
        log.error(
            "the model adapter %s reports a usage that can't be kept whole (%s); the rest of it was."
            " Fix: in the adapter, %s",
            type(attempt.world.agent.model).__name__,
            "; ".join(wrong),
            FIX,
            extra={"turn_id": attempt.turn_id, "session": attempt.session},
        )
    return usage


class _NotKept(Exception):
    """Says why, in words of ours."""


def _text(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _NotKept(f"{type(value).__name__} isn't text")
    return clean(value).replace("\0", "\ufffd")  # no store takes it


def _count(value: object) -> int:
    if not isinstance(value, int | float):
        raise _NotKept(f"{type(value).__name__} isn't a number")
    if isinstance(value, float) and not value.is_integer():
        raise _NotKept(f"{value} isn't a whole number")
    if not 0 <= value <= MOST_TOKENS:
        raise _NotKept("it is below 0" if value < 0 else f"it is above {MOST_TOKENS}")
    return int(value)


def _cost(value: object) -> Decimal | None:
    if value is None:
        return None
    if not isinstance(value, int | float | Decimal):
        raise _NotKept(f"{type(value).__name__} isn't a Decimal")
    cost = value if isinstance(value, Decimal) else Decimal(str(value))
    if not cost.is_finite():
        raise _NotKept(f"{cost} is no amount")
    if not 0 <= cost < MOST_DOLLARS:
        raise _NotKept("it is below 0" if cost < 0 else f"it is above {MOST_DOLLARS}")
    if -cast("int", cost.as_tuple().exponent) > MOST_DECIMALS:
        raise _NotKept(f"it has more than {MOST_DECIMALS} decimals")
    return cost


def _raw(value: object) -> JsonObject | None:
    if value is None:
        return None
    try:
        found = to_json(value)
    except TypeError as error:
        raise _NotKept(str(error).replace("the result", "raw", 1)) from error
    if not isinstance(found, dict):
        raise _NotKept(f"{type(value).__name__} isn't an object")
    return found


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
