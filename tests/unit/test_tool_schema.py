"""``@tool``: what it takes from a function, what it refuses, and how it reads a model's arguments."""

from __future__ import annotations

import enum
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, field_validator

from gateway.engine.errors import ConfigError
from gateway.engine.kinds import JsonObject
from gateway.engine.tool import InvalidToolInput, Tool, tool

if TYPE_CHECKING:
    from gateway import ToolContext


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


@dataclass
class Line:
    sku: str
    count: int = 1


class Address(BaseModel):
    street: str
    zip: str = Field(pattern=r"^\d{5}$")

    @field_validator("street")
    @classmethod
    def not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("a street can't be blank")
        return value


@tool
def place_order(
    ctx: ToolContext,
    lines: list[Line],
    ship_to: Address,
    size: Size,
    priority: Literal["slow", "fast"] = "slow",
    due: date | None = None,
    tip: Decimal = Decimal(0),
    title: Annotated[str, Field(description="printed on the parcel", max_length=10)] = "",
) -> dict[str, object]:
    """Place an order.

    The customer is charged later.
    """
    del ctx
    return {"lines": lines}


GOOD: JsonObject = {
    "lines": [{"sku": "k-1", "count": 2}],
    "ship_to": {"street": "Quay 1", "zip": "12345"},
    "size": "l",
}


# -- what it makes of a function -------------------------------------------------------------------
def test_a_bare_decorator_makes_a_local_write_tool() -> None:
    assert isinstance(place_order, Tool)
    assert place_order.name == "place_order"
    assert place_order.description == "Place an order.\n\nThe customer is charged later."
    assert (place_order.effect, place_order.remote) == ("write", False)
    assert place_order.takes_context


def test_an_async_function_is_external_unless_it_says_otherwise() -> None:
    @tool
    async def call_api(url: str) -> None:
        """Call."""

    @tool(effect="read", timeout=5, parallel=True, untrusted_output=True)
    async def fetch(url: str) -> None:
        """Fetch."""

    assert (call_api.effect, call_api.remote, call_api.takes_context) == ("external", True, False)
    assert (fetch.effect, fetch.timeout, fetch.parallel) == ("read", 5.0, True)
    assert fetch.untrusted_output


def test_the_schema_says_what_the_hints_say_and_nothing_else() -> None:
    schema = place_order.input_schema
    text = json.dumps(schema)
    properties: Any = schema["properties"]
    assert schema["required"] == ["lines", "ship_to", "size"]
    assert schema["additionalProperties"] is False
    assert list(properties) == ["lines", "ship_to", "size", "priority", "due", "tip", "title"]
    assert properties["title"]["description"] == "printed on the parcel"
    assert properties["priority"] == {"default": "slow", "enum": ["slow", "fast"], "type": "string"}
    assert "ctx" not in properties
    assert "Title" not in text, "names derived from names teach a model nothing"


def test_a_tool_without_arguments_takes_an_empty_object() -> None:
    @tool
    def ping() -> str:
        """Ping."""
        return "pong"

    assert ping.input_schema == {"additionalProperties": False, "properties": {}, "type": "object"}
    assert ping.validate({}) == {}
    with pytest.raises(InvalidToolInput, match="x: no such field"):
        ping.validate({"x": 1})


def test_arguments_may_have_the_names_of_pydantic_methods() -> None:
    @tool
    def odd(copy: str, json: int, model_config: str, _hidden: bool, schema: str = "s") -> None:
        """Odd."""

    given: JsonObject = {"copy": "c", "json": 1, "model_config": "m", "_hidden": True}
    assert odd.validate(given) == given


def test_the_context_is_the_first_parameter_by_name_or_by_annotation() -> None:
    @tool
    def named(ctx: object, x: int) -> None:
        """N."""

    @tool
    def annotated(context: ToolContext, x: int) -> None:
        """A."""

    for each in (named, annotated):
        assert each.takes_context
        assert list(each.validate({"x": 1})) == ["x"]


def test_the_key_may_be_one_name_or_several() -> None:
    @tool(effect="money", key="order_id")
    async def one(order_id: str) -> None:
        """One."""

    @tool(effect="money", key=["order_id", "month"])
    async def two(order_id: str, month: int) -> None:
        """Two."""

    assert (one.key, two.key) == (("order_id",), ("order_id", "month"))


# -- what it refuses -------------------------------------------------------------------------------
def plain(x: str) -> None:
    """Do."""


async def remote(x: str) -> None:
    """Do."""


def generator(x: str) -> Iterator[str]:
    """Do."""
    yield x


async def async_generator(x: str) -> AsyncIterator[str]:
    """Do."""
    yield x


def stars(*items: str) -> None:
    """Do."""


def double_stars(**items: str) -> None:
    """Do."""


def by_position(x: str, /) -> None:
    """Do."""


def unhinted(x: str) -> None:
    """Do."""


del unhinted.__annotations__["x"]


def late_context(x: str, ctx: ToolContext) -> None:
    """Do."""


def unresolved(x: Nowhere) -> None:  # type: ignore[name-defined] # noqa: F821
    """Do."""


class Opaque:
    pass


def untypable(x: str, y: Opaque) -> None:
    """Do."""


def field_default(x: str = Field(default="a")) -> None:
    """Do."""


def an_ünusual_name(x: str) -> None:  # noqa: PLC2401
    """Do."""


LAMBDA: Callable[..., object] = lambda x: x  # noqa: E731

REFUSED: list[tuple[Callable[..., object], dict[str, Any], str, str]] = [
    (
        plain,
        {"effect": "external"},
        "plain() has the effect 'external' but is not async",
        "async def plain",
    ),
    (plain, {"effect": "money", "key": "x"}, "effect 'money' but is not async", "async def plain"),
    (remote, {"effect": "money"}, "moves money but names no key", 'key=("order_id",)'),
    (remote, {"effect": "money", "key": ("y",)}, "key 'y', which is not one of its", "are: x"),
    (plain, {"key": ("x",)}, "a key, which means nothing for the effect 'write'", "drop key"),
    (plain, {"effect": "delete"}, "unknown effect 'delete'", "read, write, external, money"),
    (plain, {"parallel": True}, "is parallel but not async", "async def"),
    (plain, {"timeout": 0}, "has timeout=0", "above 0"),
    (plain, {"timeout": -1.5}, "has timeout=-1.5", "above 0"),
    (plain, {"timeout": float("nan")}, "has timeout=nan", "above 0"),
    (plain, {"timeout": float("inf")}, "has timeout=inf", "above 0"),
    (plain, {"timeout": "5"}, "has timeout='5'", "above 0"),
    (plain, {"timeout": True}, "has timeout=True", "above 0"),
    (plain, {"untrusted_output": "no"}, "untrusted_output='no'", "True or False"),
    (remote, {"answerers": {"users": "u"}}, "the unknown entry 'users'", '{"policy"'),
    (remote, {"answerers": {}}, "don't name exactly one of user and policy", '{"user"'),
    (remote, {"answerers": {"user": "u", "policy": "p"}}, "exactly one of", '{"user"'),
    (remote, {"answerers": {"user": ""}}, "a user that isn't a non-empty text", '{"user"'),
    (remote, {"answerers": {"user": "u", "scope": "s"}}, "a scope without a policy", '{"user"'),
    (remote, {"answerers": {"policy": "p", "quorum": 0}}, "quorum that isn't", '{"user"'),
    (remote, {"answerers": {"user": "u", "quorum": 2}}, "ask one user for a quorum", '{"user"'),
    (remote, {"answerers": {"policy": "p", "not_requester": 1}}, "not_requester", '{"user"'),
    (remote, {"answerers": ["u"]}, "aren't a mapping", '{"user"'),
    (generator, {}, "yields, but a tool gives one result", "return the result"),
    (async_generator, {}, "yields, but a tool gives one result", "return the result"),
    (stars, {}, "takes *items", "list each argument"),
    (double_stars, {}, "takes **items", "list each argument"),
    (by_position, {}, "takes x by position only", "remove the /"),
    (unhinted, {}, "gives x no type hint", "x: str"),
    (late_context, {}, "has its context ctx behind other parameters", "make ctx the first"),
    (unresolved, {}, "type hint Nowhere, which can't be resolved", "top level"),
    (untypable, {}, "gives y the type", "use JSON types"),
    (field_default, {}, "uses Field(…) as the default of x", "Annotated"),
    (an_ünusual_name, {}, "has a name that can't be a tool's", "ASCII"),
    (LAMBDA, {}, "<lambda>() has a name that can't be a tool's", "def"),
]


@pytest.mark.parametrize(("function", "options", "said", "fix"), REFUSED)
def test_a_function_that_cannot_be_a_tool_is_refused_with_its_place_and_the_fix(
    function: Callable[..., object], options: dict[str, Any], said: str, fix: str
) -> None:
    decorate: Any = tool
    with pytest.raises(ConfigError) as refusal:
        decorate(**options)(function) if options else decorate(function)
    line = function.__code__.co_firstlineno
    assert str(refusal.value).startswith(f"{__file__}:{line}: ")
    assert said in str(refusal.value)
    assert fix in refusal.value.fix


def test_decorating_twice_or_something_else_is_refused() -> None:
    with pytest.raises(ConfigError, match="twice"):
        tool(place_order)  # type: ignore[call-overload]
    with pytest.raises(ConfigError, match="is not a function"):
        tool(Size)


# -- arguments -------------------------------------------------------------------------------------
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


def test_a_validator_that_breaks_is_a_refused_call_and_no_crash() -> None:
    @dataclass
    class Broken:
        x: int

        def __post_init__(self) -> None:
            raise ZeroDivisionError("division by zero")

    def take(thing: object) -> None:
        """Take."""

    take.__annotations__["thing"] = Broken
    with pytest.raises(InvalidToolInput, match="ZeroDivisionError: division by zero"):
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
