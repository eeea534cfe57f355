"""Whoever answers a request can't keep the process busy with it."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ConfigDict, Field

from gateway.engine.errors import InputRequestError
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.schema import check_value, value_schema

LOOP = "refers to itself without going into the answer"
SLOW = "pattern that can't be matched in bounded time"


class Looks(BaseModel):
    model_config = ConfigDict(regex_engine="python-re")
    word: str = Field(pattern="^(?!no)[a-z]+$")


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"$ref": "#"}, LOOP),
        ({"$dynamicRef": "#"}, LOOP),
        ({"allOf": [{"$ref": "#"}]}, LOOP),
        ({"properties": {"a": {"anyOf": [{}, {"not": {"$ref": "#/properties/a"}}]}}}, LOOP),
        (
            {
                "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
                "if": {"$ref": "#/$defs/a"},
            },
            LOOP,
        ),
        ({"dependentSchemas": {"a": {"$ref": "#"}}}, LOOP),
        ({"type": "string", "pattern": r"^(?!\.)[a-z.]+$"}, SLOW),
        ({"items": {"pattern": r"^(a)\1$"}}, SLOW),
        ({"patternProperties": {"(?<=a)b": {}}}, SLOW),
        ({"propertyNames": {"pattern": "(?=a)"}}, SLOW),
        ({"$defs": {"x": {"pattern": "(?=a)"}}, "prefixItems": [{"$ref": "#/$defs/x"}]}, SLOW),
        (Looks, SLOW),
        ({"patternProperties": {"^a": {}}, "unevaluatedProperties": False}, "bounded time"),
        ({"items": {"$id": "https://shop.example/part", "$ref": "#"}}, r"a \$id of its own"),
        (
            {"items": {"$schema": "http://json-schema.org/draft-07/schema#"}},
            r"a \$schema of its own",
        ),
    ],
)
def test_a_form_whose_answers_might_never_be_checked_is_refused_when_the_tool_asks(
    schema: object, said: str
) -> None:
    with pytest.raises(InputRequestError, match=said) as refusal:
        value_schema(schema)
    assert refusal.value.fix


def test_what_no_answer_reaches_may_be_anything() -> None:
    value_schema({"$defs": {"unused": {"$ref": "#/$defs/unused"}}, "type": "string"})


@pytest.mark.parametrize(
    ("pattern", "value", "fits"),
    [
        ("^(a+)+$", "a" * 40, True),
        ("^(a+)+$", "a" * 40 + "!", False),
        ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 60, False),
        ("b", "abc", True),
        (r"^\d{3}$", "123", True),
        (r"^(?!\.{1,2}$)[a-z.]+$", "..", False),
        (r"^(?!\.{1,2}$)[a-z.]+$", "a.b", True),
        (r"^(a)\1$", "aa", True),
    ],
)
def test_no_answer_stops_the_process_by_its_pattern(pattern: str, value: str, fits: bool) -> None:
    problem = check_value({"type": "string", "pattern": pattern}, value)
    assert problem == (None if fits else f"must match the pattern {pattern}")


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (
            {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False},
            {"a" * 40 + "!": 1},
        ),
        (
            {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "array",
                "items": {"anyOf": [{"$ref": "#"}, {"type": "string", "pattern": "^(a+)+$"}]},
            },
            [["a" * 40 + "!"]],
        ),
    ],
)
def test_nor_by_the_names_of_its_fields_nor_deeper_down(schema: JsonObject, value: Json) -> None:
    assert check_value(value_schema(schema), value) is not None
