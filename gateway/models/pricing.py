"""What a call costs, in US dollars, from the prices that ``genai-prices`` ships.

Its two traps are handled here (genai-prices 0.2): its ``input_tokens`` includes cached tokens while
Anthropic's excludes them, so the provider's record goes through its own ``extract_usage``; and it
knows nothing of ``usage.iterations``, where alone compaction and advisor tokens are listed.

Nothing is fetched: the prices are those of the installed version, named in ``Usage.prices``.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from gateway.engine.kinds import Json, JsonObject
from gateway.engine.struct import struct

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

_IN_TOTAL = frozenset({"message", "fallback_message"})
"""Iterations whose tokens the top-level numbers hold already; all other kinds come on top."""


@struct(frozen=True, slots=True)
class Price:
    """``cost`` is ``None`` when a part of the bill has no known price: a budget then fails closed."""

    cost: Decimal | None
    prices: str


def load() -> str:
    """Import the price tables (0.4 s, so off the event loop) and name their version."""
    import genai_prices
    from genai_prices.data_snapshot import get_snapshot

    get_snapshot()
    return f"genai-prices {genai_prices.__version__}"


def price(usage: JsonObject, *models: str) -> Price:
    """The cost of one call by the provider's own record; the first of ``models`` with a price wins.

    Several names, because the served model may be a snapshot or an alias of the one asked for.
    """
    version = load()
    total = Decimal(0)
    for part, own in _parts(usage):
        found = _first_price(part, (own, *models))
        if found is None:
            return Price(None, version)
        total += found
    return Price(total, version)


def _parts(usage: JsonObject) -> list[tuple[JsonObject, str]]:
    """The bill's parts, each with the model it names itself (``""``: that of the call)."""
    iterations = usage.get("iterations")
    return [(usage, "")] + [
        (entry, _text(entry.get("model")))
        for entry in (iterations if isinstance(iterations, list) else ())
        if isinstance(entry, dict) and entry.get("type") not in _IN_TOTAL
    ]


def _first_price(usage: JsonObject, models: tuple[str, ...]) -> Decimal | None:
    for model in dict.fromkeys(models):
        if model and (found := _calculate(usage, model)) is not None:
            return found.total_price
    return None


def _calculate(usage: JsonObject, model: str) -> PriceCalculation | None:
    from genai_prices import extract_usage

    speed = _text(usage.get("speed"))
    try:
        extracted = extract_usage({"model": model, "usage": usage}, provider_id="anthropic")
        return extracted.calc_price(price_context={"speed": speed} if speed == "fast" else None)
    except (LookupError, ValueError, TypeError):
        return None


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
