"""A model's arguments: filled in as the function declares them, or refused in one line."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.engine.kinds import JsonObject
from gateway.engine.tool import InvalidToolInput, tool
from tests.unit.placing import GOOD, Address, Line, Size, place_order


def test_json_becomes_the_types_the_function_declares() -> None:
    arguments = {**GOOD, "due": "2026-03-01", "tip": "1.50", "priority": "fast"}
    assert place_order.validate(arguments) == {
        "lines": [Line("k-1", 2)],
        "ship_to": Address(street="Quay 1", zip="12345"),
        "size": Size.LARGE,
        "due": date(2026, 3, 1),
        "tip": Decimal("1.50"),
        "priority": "fast",
    }


def test_what_the_model_leaves_out_is_left_to_the_function() -> None:
    assert set(place_order.validate(GOOD)) == {"lines", "ship_to", "size"}


def test_a_decimal_is_read_exactly_from_a_number() -> None:
    assert place_order.validate({**GOOD, "tip": 42.1})["tip"] == Decimal("42.1")


def test_a_whole_number_may_be_written_with_a_point() -> None:
    lines: list[Any] = [{"sku": "k", "count": 3.0}]
    assert place_order.validate({**GOOD, "lines": lines})["lines"] == [Line("k", 3)]


INVALID: list[tuple[dict[str, Any], str]] = [
    ({"size": None}, "size: must be 's' or 'l'"),
    ({"colour": "red"}, "colour: no such field; the fields are lines, ship_to, size, priority,"),
    ({"lines": "k-1"}, "lines: must be a list"),
    ({"lines": [{"count": 1}]}, "lines[0].sku: missing"),
    ({"lines": [{"sku": "a"}, {"sku": 5}]}, "lines[1].sku: must be text"),
    ({"lines": [{"sku": "a", "count": "2"}]}, "lines[0].count: must be a whole number"),
    ({"lines": [{"sku": "a", "count": 2.5}]}, "lines[0].count: must be a whole number"),
    ({"lines": [{"sku": "a", "size": 2}]}, "lines[0].size: no such field"),
    ({"lines": [{"sku": "a", "count": True}]}, "lines[0].count: must be a whole number"),
    ({"ship_to": {"street": " ", "zip": "12345"}}, "ship_to.street: a street can't be blank"),
    ({"ship_to": {"street": "x", "zip": "1"}}, "ship_to.zip: string should match pattern"),
    ({"due": "2026-13-01"}, "due: must be a valid date"),
    ({"due": 5}, "due: must be a valid date"),
    ({"tip": "NaN"}, "tip: must be a finite number"),
    ({"tip": True}, "tip: must be a decimal number"),
    ({"tip": "a lot"}, "tip: must be a decimal number"),
    ({"tip": float("nan")}, "isn't valid JSON"),
    ({"title": "\ud800"}, "isn't valid JSON"),
    ({"title": "much too long for it"}, "title: string should have at most 10 characters"),
    ({"priority": "now"}, "priority: must be 'slow' or 'fast'"),
]


@pytest.mark.parametrize(("change", "said"), INVALID)
def test_each_wrong_field_is_named_in_one_line(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidToolInput) as refusal:
        place_order.validate({**GOOD, **change})
    message = str(refusal.value)
    assert message.startswith(said) or said in message
    assert "\n" not in message
    assert "pydantic" not in message
    assert "http" not in message


def test_all_fields_are_named_at_once() -> None:
    with pytest.raises(InvalidToolInput) as refusal:
        place_order.validate({"size": "xl"})
    message = str(refusal.value)
    assert "lines: missing; ship_to: missing; size: must be 's' or 'l'" in message


@pytest.mark.parametrize("error", [ZeroDivisionError("on purpose"), SystemExit("on purpose")])
def test_a_validator_that_breaks_is_a_refused_call_and_no_crash(error: BaseException) -> None:
    @dataclass
    class Broken:
        x: int

        def __post_init__(self) -> None:
            raise error

    def take(thing: object) -> None:
        """Take."""

    take.__annotations__["thing"] = Broken
    with pytest.raises(InvalidToolInput, match=f"{type(error).__name__}: on purpose"):
        tool(take).validate({"thing": {"x": 1}})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(
    st.dictionaries(
        st.sampled_from(["lines", "ship_to", "size", "priority", "due", "tip", "title"])
        | st.text(max_size=5),
        json_values,
    )
)
def test_whatever_a_model_writes_is_filled_in_or_refused_in_one_line(arguments: JsonObject) -> None:
    try:
        filled = place_order.validate(arguments)
    except InvalidToolInput as refused:
        message = str(refused)
    else:
        assert set(filled) == set(arguments)
        message = "filled in"
    assert 0 < len(message) <= 1000
    assert len(message.splitlines()) == 1


@tool
def echo(count: int, share: float, text: str, flags: list[bool], when: date | None = None) -> None:
    """Echo."""


@given(
    count=st.integers(-(2**63), 2**63),
    share=st.floats(allow_nan=False, allow_infinity=False),
    text=st.text(st.characters(exclude_categories=["Cs"])),
    flags=st.lists(st.booleans()),
    when=st.dates(),
)
def test_what_fits_comes_through_unchanged(
    count: int, share: float, text: str, flags: list[bool], when: date
) -> None:
    arguments: JsonObject = {
        "count": count,
        "share": share,
        "text": text,
        "flags": [*flags],
        "when": when.isoformat(),
    }
    assert echo.validate(arguments) == {**arguments, "when": when}
