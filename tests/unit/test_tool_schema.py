"""``@tool``: what it takes from a function, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import Field

from gateway.engine.errors import ConfigError
from gateway.engine.kinds import JsonObject
from gateway.engine.tool import InvalidToolInput, Tool, tool
from tests.unit.placing import Size, place_order

if TYPE_CHECKING:
    from gateway import ToolContext


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
