"""Schemas of requests, answers against them, and results as JSON."""

from __future__ import annotations

import enum
import json
import time as clock
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from typing_extensions import override

from gateway.engine.errors import InputRequestError, InvalidInputError
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.schema import check_value, parse_value, to_json, value_schema


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Parcel:
    weight: Decimal
    colour: Colour = Colour.RED
    note: str | None = None


class Person(BaseModel):
    name: str = Field(min_length=1)
    born: date | None = None


FORM: JsonObject = {
    "type": "object",
    "properties": {
        "amount": {"type": "number", "minimum": 1, "maximum": 500},
        "note": {"type": "string", "maxLength": 5},
        "when": {"type": "string", "format": "date-time"},
    },
    "required": ["amount"],
    "additionalProperties": False,
}

NAMED: JsonObject = {
    "properties": {"known": {}},
    "patternProperties": {"^x-": {"type": "string"}},
    "additionalProperties": False,
}


class Tree(BaseModel):
    name: str
    below: list[Tree] = []


# -- schemas ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        (bool, {"type": "boolean"}),
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (Literal["a", "b"], {"enum": ["a", "b"], "type": "string"}),
        (Colour, {"enum": ["red", "blue"], "type": "string"}),
        (list[int], {"items": {"type": "integer"}, "type": "array"}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Annotated[int, Field(ge=1), []], {"minimum": 1, "type": "integer"}),
    ],
)
def test_a_python_type_becomes_its_json_schema(kind: object, schema: JsonObject) -> None:
    assert value_schema(kind) == schema
    assert value_schema(kind) is not value_schema(kind), "each caller owns its copy"


def test_a_json_schema_is_taken_as_it_is() -> None:
    assert value_schema(FORM) == FORM


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"type": "string", "pattern": "("},
        {"$ref": "#/$defs/gone"},
        {"$ref": "#anchor"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "https://example.com/schema.json"},
        {"enum": [object()]},
        {"minimum": "1"},
        object(),
        print,
        lambda: None,
    ],
)
def test_what_is_no_schema_is_refused_when_the_tool_asks(schema: object) -> None:
    with pytest.raises(InputRequestError, match="the schema of a request") as refusal:
        value_schema(schema)
    assert refusal.value.fix


# -- answers ---------------------------------------------------------------------------------------
def test_an_answer_becomes_an_instance_of_the_type() -> None:
    assert parse_value(bool, value=True) is True
    assert parse_value(Colour, "blue") is Colour.BLUE
    assert parse_value(Decimal, "12.50") == Decimal("12.50")
    assert parse_value(Parcel, {"weight": 2}) == Parcel(Decimal(2))
    assert parse_value(Person, {"name": "R", "born": "2000-02-29"}) == Person(
        name="R", born=date(2000, 2, 29)
    )
    assert parse_value(FORM, {"amount": 3}) == {"amount": 3}


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        (bool, "yes", "must be true or false"),
        (int, "5", "must be a whole number"),
        (Person, {"name": ""}, "name: string should have at least 1 character"),
        (FORM, {}, "amount: missing"),
        (float, float("nan"), "isn't valid JSON"),
    ],
)
def test_an_answer_that_does_not_fit_is_a_422(schema: object, value: Json, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said) as refusal:
        parse_value(schema, value)
    assert refusal.value.status == 422


FITS: list[tuple[object, Json]] = [
    (bool, True),
    (int, 5.0),
    (Decimal, 12.5),
    (Decimal, "12.50"),
    (date, "2026-02-28"),
    (datetime, "2026-02-28T10:00:00Z"),
    (UUID, "12345678-1234-5678-1234-567812345678"),
    (Parcel, {"weight": 1, "colour": "blue", "note": None}),
    (FORM, {"amount": 500, "when": "2026-01-01T00:00:00+01:00"}),
    ({}, {"anything": [1]}),
    ({"$defs": {"a/b": {"type": "integer"}}, "$ref": "#/$defs/a~1b"}, 1),
    ({"$defs": {"a b": {"type": "integer"}}, "$ref": "#/$defs/a%20b"}, 1),
    ({"type": "array", "items": {"$ref": "#"}}, [[], [[]]]),
    (Tree, {"name": "a", "below": [{"name": "b"}]}),
    (NAMED, {"known": 1, "x-a": "1"}),
    ({"additionalProperties": True, "const": {"a": 1}}, {"a": 1}),
    ({"enum": [{"pattern": "(?=x)", "$id": "data"}]}, {"pattern": "(?=x)", "$id": "data"}),
    ({"$id": "https://shop.example/x", "$defs": {"n": {}}, "$ref": "#/$defs/n"}, 1),
    ({"prefixItems": [{"type": "integer"}], "items": {"$ref": "#/prefixItems/0"}}, [1, 2]),
]
WRONG: list[tuple[object, Json, str]] = [
    (bool, 1, "must be true or false"),
    (bool, "true", "must be true or false"),
    (bool, None, "must be true or false"),
    (int, True, "must be a whole number"),
    (int, 1.5, "must be a whole number"),
    (str, 1, "must be text"),
    (str, "\udc00", "holds a number or a text that isn't valid JSON"),
    (float, float("inf"), "holds a number or a text that isn't valid JSON"),
    (Decimal, "a lot", "must be a decimal number, like 12.50"),
    (Decimal, True, "must be a number or text"),
    (date, "tomorrow", "must be a valid date"),
    (datetime, "2026-02-30T10:00:00Z", "must be a valid date-time"),
    (Colour, "green", 'must be one of "red", "blue"'),
    (Literal["only"], "other", 'must be "only"'),
    (int | None, "x", "must be a whole number or empty"),
    (list[int], [1, "x", 2], "[1]: must be a whole number"),
    (FORM, 5, "must be an object"),
    (FORM, {"note": "x"}, "amount: missing"),
    (FORM, {"amount": 0}, "amount: must be at least 1"),
    (FORM, {"amount": 501}, "amount: must be at most 500"),
    (FORM, {"amount": 5, "note": "longer"}, "note: must have at most 5 characters"),
    (FORM, {"amount": 5, "tip": 1}, 'has no field "tip"'),
    (FORM, {"amount": "5", "note": 1}, "amount: must be a number; note: must be text"),
    (Parcel, {"weight": 1, "colour": "green"}, 'colour: must be one of "red", "blue"'),
    (Parcel | int, {"colour": "red"}, "weight: missing"),
    ({"type": "array", "items": {"$ref": "#"}}, [[1]], "[0][0]: must be a list"),
    (NAMED, {"x-a": "1", "b": 1, "c": 2}, 'has no field "b", "c"'),
    (NAMED, {"x-a": 1}, "x-a: must be text"),
    ({"additionalProperties": {"type": "string"}}, {"a": 1}, "a: must be text"),
    (dict[Annotated[str, Field(pattern="^[a-z]$")], int], {"a": "x"}, "a: must be a whole number"),
    (
        {"propertyNames": {"pattern": "^(a+)+$"}},
        {"a" * 40 + "!": 1},
        "must match the pattern ^(a+)+$",
    ),
    ({"type": "array", "uniqueItems": True}, [1, 1], "must not repeat an entry"),
    ({"const": 3}, 4, "must be 3"),
    ({"type": "string", "pattern": "^a"}, "b", "must match the pattern ^a"),
    ({"oneOf": [{"minimum": 1}, {"maxLength": 1}]}, 5, "fits none of the allowed forms"),
]


@pytest.mark.parametrize(("schema", "value"), FITS)
def test_a_value_that_fits(schema: object, value: Json) -> None:
    assert check_value(value_schema(schema), value) is None


@pytest.mark.parametrize(("schema", "value", "said"), WRONG)
def test_a_value_that_does_not_fit_is_told_in_a_persons_words(
    schema: object, value: Json, said: str
) -> None:
    assert check_value(value_schema(schema), value) == said


def test_many_mistakes_are_counted_and_long_values_are_not_repeated() -> None:
    many: Json = ["x" * 10_000] * 50
    said = check_value(value_schema(list[int]), many)
    assert said is not None
    assert said.endswith("and 45 more")
    assert len(said) < 1_000
    longest = check_value({"enum": ["y" * 10_000]}, "x" * 10_000)
    assert longest is not None
    assert len(longest) < 300


def test_an_answer_is_checked_quickly() -> None:
    schema = value_schema(Parcel)
    check_value(schema, {"weight": 1})
    start = clock.perf_counter()
    for _ in range(200):
        check_value(schema, {"weight": 1})
    assert clock.perf_counter() - start < 1, "the validator of a schema is made once"


# -- results ---------------------------------------------------------------------------------------
@dataclass
class Receipt:
    amount: Decimal
    at: datetime
    colour: Colour = Colour.BLUE
    tags: set[str] = field(default_factory=lambda: {"b", "a"})


RESULTS: list[tuple[object, Json]] = [
    (None, None),
    (True, True),
    (1.5, 1.5),
    ("text", "text"),
    ((1, 2), [1, 2]),
    ({"a": {1: "x"}}, {"a": {"1": "x"}}),
    (Decimal("42.50"), "42.50"),
    (date(2026, 1, 2), "2026-01-02"),
    (time(9, 30), "09:30:00"),
    (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
    (timedelta(minutes=2), 120.0),
    (Colour.RED, "red"),
    ({Colour.RED: 1, True: 2}, {"red": 1, "true": 2}),
    (float("nan"), "NaN"),
    ([float("inf"), float("-inf")], ["Infinity", "-Infinity"]),
    ("a\ud800b", "a?b"),
    ({"\ud800": 1}, {"?": 1}),
    (Person(name="R", born=date(2000, 1, 1)), {"name": "R", "born": "2000-01-01"}),
    (
        [Receipt(Decimal("1.10"), datetime(2026, 1, 2, tzinfo=UTC))],
        [
            {
                "amount": "1.10",
                "at": "2026-01-02T00:00:00+00:00",
                "colour": "blue",
                "tags": ["a", "b"],
            }
        ],
    ),
]


@pytest.mark.parametrize(("value", "written"), RESULTS)
def test_a_result_is_written_as_json(value: object, written: Json) -> None:
    assert to_json(value) == written


def endless() -> dict[str, object]:
    loop: dict[str, object] = {}
    loop["self"] = loop
    return loop


async def forgotten() -> None:
    """Never awaited."""


UNWRITABLE: list[tuple[object, str]] = [
    (object(), "the result is of type object, which can't be written as JSON"),
    ({"a": [1, b"x"]}, "the result's a[1] is bytes (decode them"),
    ({"f": print}, "the result's f is a function (a call is missing)"),
    (Person, "the result is the class Person"),
    ({(1, 2): 3}, "the result has a key of type tuple"),
    ({1: "a", "1": "b"}, "the result has two keys that both read '1'"),
    (endless(), "is nested deeper than 100 levels"),
    (10**2000, "is an integer of"),
    ((x for x in "ab"), "the result is of type generator"),
]


@pytest.mark.parametrize(("value", "said"), UNWRITABLE)
def test_what_is_not_json_says_where_and_what(value: object, said: str) -> None:
    with pytest.raises(TypeError) as refusal:
        to_json(value)
    assert said in str(refusal.value)
    assert len(str(refusal.value)) < 300


def test_a_forgotten_await_is_named() -> None:
    waiting = forgotten()
    with pytest.raises(TypeError, match="an await is missing"):
        to_json({"later": waiting})
    waiting.close()


anything: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.decimals()
    | st.datetimes()
    | st.dates()
    | st.timedeltas()
    | st.binary(max_size=3)
    | st.sampled_from(Colour),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers() | st.binary(max_size=2), inner, max_size=3)
    ),
    max_leaves=15,
)


@given(anything)
def test_whatever_a_tool_returns_is_json_or_a_type_error(value: object) -> None:
    try:
        written = to_json(value)
    except TypeError:
        return
    text = json.dumps(written, allow_nan=False)
    assert json.loads(text.encode()) == written
    assert to_json(written) == written


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))  # fmt: skip
def test_any_answer_to_any_form_is_decided(value: Json) -> None:
    for schema in (FORM, value_schema(Parcel), value_schema(bool)):
        said = check_value(schema, value)
        assert said is None or len(said.splitlines()) == 1


def test_a_mapping_that_is_no_dict_is_an_object() -> None:
    class Frozen(Mapping[str, int]):
        @override
        def __getitem__(self, key: str) -> int:
            return {"a": 1}[key]

        @override
        def __iter__(self) -> Any:
            return iter(("a",))

        @override
        def __len__(self) -> int:
            return 1

    assert to_json(Frozen()) == {"a": 1}
