"""What a call costs: worked by hand from the price list, in dollars per million tokens."""

from __future__ import annotations

from decimal import Decimal

import pytest

from gateway.engine.kinds import JsonObject
from gateway.models.pricing import price

MILLION = Decimal(1_000_000)
OPUS = "claude-opus-5-5"
"""$4 in, $20 out, $0.20 read from cache (5 %), $5 written for 5 minutes, $8 for an hour."""


def usage(**numbers: int) -> JsonObject:
    return {"input_tokens": 0, "output_tokens": 0, **numbers}


@pytest.mark.parametrize(
    ("bill", "dollars"),
    [
        (usage(input_tokens=1000), Decimal(4000) / MILLION),
        (usage(output_tokens=1000), Decimal(20000) / MILLION),
        (usage(input_tokens=10, cache_read_input_tokens=1000), None),
        (usage(cache_creation_input_tokens=1000), Decimal(5000) / MILLION),
        (
            {
                **usage(cache_creation_input_tokens=1000),
                "cache_creation": {
                    "ephemeral_5m_input_tokens": 0,
                    "ephemeral_1h_input_tokens": 1000,
                },
            },
            Decimal(8000) / MILLION,
        ),
        ({**usage(input_tokens=1000), "speed": "fast"}, Decimal(8000) / MILLION),
        ({**usage(input_tokens=1000), "speed": "standard"}, Decimal(4000) / MILLION),
        ({**usage(), "server_tool_use": {"web_search_requests": 3}}, Decimal(3) / 100),
    ],
)
def test_each_part_of_a_bill(bill: JsonObject, dollars: Decimal | None) -> None:
    found = price(bill, OPUS)
    assert found.prices.startswith("genai-prices ")
    assert found.cost is not None
    if dollars is not None:
        assert found.cost == dollars


def test_cached_tokens_are_neither_priced_twice_nor_refused() -> None:
    """The trap: Anthropic's input excludes the cache, the price list's includes it."""
    alone = price(usage(input_tokens=10), OPUS).cost
    small = price(usage(input_tokens=10, cache_read_input_tokens=5), OPUS).cost
    large = price(usage(input_tokens=10, cache_read_input_tokens=500_000), OPUS).cost
    assert alone is not None
    assert small is not None
    assert large is not None
    per_token = (large - alone) / 500_000
    assert small - alone == 5 * per_token
    assert per_token < Decimal(4) / MILLION


def test_tiers_go_by_the_size_of_the_request() -> None:
    assert price(usage(input_tokens=100_000), "claude-haiku-5-5").cost == Decimal("0.010")
    assert price(usage(input_tokens=100_001), "claude-haiku-5-5").cost == Decimal("0.0500005")


def test_iterations_that_the_totals_leave_out_are_added() -> None:
    message = usage(input_tokens=1000)
    compaction: JsonObject = {
        "type": "compaction",
        **usage(input_tokens=180_000, output_tokens=3000),
    }
    advice: JsonObject = {
        "type": "advisor_message",
        "model": "claude-haiku-4-5",
        **usage(input_tokens=1000),
    }
    bill: JsonObject = {
        **message,
        "iterations": [{"type": "message", **message}, compaction, advice],
    }
    whole, alone = price(bill, OPUS).cost, price(message, OPUS).cost
    assert whole is not None
    assert alone is not None
    assert whole - alone == Decimal("0.78") + Decimal("0.001")


@pytest.mark.parametrize("model", ["claude-mythos-5-2-preview", "gpt-9", ""])
def test_an_unknown_price_is_none_and_not_zero(model: str) -> None:
    assert price(usage(input_tokens=1000), model).cost is None


def test_one_part_without_a_price_leaves_the_whole_unknown() -> None:
    odd: JsonObject = {"type": "compaction", "model": "gpt-9", **usage(input_tokens=5)}
    known: JsonObject = {**usage(input_tokens=5), "iterations": [odd]}
    assert price(known, "gpt-9").cost is None


def test_the_model_asked_for_stands_in_for_a_served_one_without_a_price() -> None:
    assert price(usage(input_tokens=1000), "opus-internal-7", OPUS).cost == Decimal("0.004")


@pytest.mark.parametrize(
    "bill", [{}, {"input_tokens": "many"}, {"input_tokens": -1, "output_tokens": 0}]
)
def test_a_bill_that_makes_no_sense_has_no_price(bill: JsonObject) -> None:
    assert price(bill, OPUS).cost is None
