"""A form made from a schema, and the value that comes out of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.contract import MISSING, Answer
from channels.slack.approve import completed
from channels.slack.cards.entered import FormErrors, filled
from channels.slack.cards.fields import ENTERED, fields
from channels.slack.cards.form import reason_view, view
from channels.slack.parsing.clicks import ANSWER_FORM, REASON, REASON_FORM
from gateway.engine.kinds import Json, JsonObject, Speaker
from gateway.engine.schema import check_value, value_schema
from tests.unit.slack.cards.samples import HOSTILE, REQUEST, card, view_fits
from tests.unit.slack.words.oracle import elements


class Size(Enum):
    small = "s"
    large = "l"


@dataclass
class Parcel:
    to: str
    weight: float
    size: Size
    pieces: int = 1
    day: date | None = None
    fragile: bool = False
    notes: list[str] | None = None
    kind: Literal["letter", "box"] = "box"


PARCEL = value_schema(Parcel)
ENTRIES: dict[str, JsonObject] = {
    "to": {"value": "Lyon"},
    "weight": {"value": "2.5"},
    "size": {"selected_option": {"value": "1"}},
    "day": {"selected_date": "2026-12-01"},
    "fragile": {"selected_option": {"value": "0"}},
    "notes": {"value": '["a"]'},
}


def state(schema: JsonObject, entries: Mapping[str, JsonObject]) -> JsonObject:
    """What Slack sends of a form, by the names of its fields."""
    blocks = {field.name or "": field.block for field in fields(schema)}
    return {blocks[name]: {ENTERED: given} for name, given in entries.items()}


def whole(schema: JsonObject, given: JsonObject) -> Json | FormErrors:
    (field,) = fields(schema)
    return filled(schema, {field.block: {ENTERED: given}})


def test_a_form_is_addressed_to_its_request() -> None:
    made = view(card(schema=PARCEL))
    view_fits(made)
    assert (made["callback_id"], made["private_metadata"]) == (ANSWER_FORM, REQUEST)
    kinds = [
        str(one["type"]) for one in elements(made["blocks"]) if one.get("action_id") == ENTERED
    ]
    assert sorted(set(kinds)) == ["datepicker", "plain_text_input", "static_select"]


def test_what_was_filled_in_is_the_value() -> None:
    found = filled(PARCEL, state(PARCEL, ENTRIES))
    assert not isinstance(found, FormErrors)
    assert found == {
        "to": "Lyon",
        "weight": 2.5,
        "size": "l",
        "day": "2026-12-01",
        "fragile": True,
        "notes": ["a"],
    }
    assert check_value(PARCEL, found) is None


def test_what_is_missing_or_wrong_is_said_at_its_field() -> None:
    blocks = {field.name: field.block for field in fields(PARCEL)}
    wrong: dict[str, JsonObject] = {
        **ENTRIES,
        "to": {"value": None},
        "weight": {"value": "heavy"},
        "size": {"selected_option": {"value": "7"}},
        "pieces": {"value": "1.5"},
        "notes": {"value": "[1"},
    }
    found = filled(PARCEL, state(PARCEL, wrong))
    assert isinstance(found, FormErrors)
    assert dict(found.errors) == {
        blocks["to"]: "This is needed.",
        blocks["weight"]: "Write a number, such as 12.5.",
        blocks["size"]: "Choose one of the options.",
        blocks["pieces"]: "Write a whole number, such as 12.",
        blocks["notes"]: 'Write JSON, such as ["a", "b"] or {"a": 1}.',
    }


def test_a_rule_of_the_schema_is_said_in_words() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"word": {"$ref": "#/$defs/Word"}, "n": {"type": "integer", "minimum": 3}},
        "$defs": {"Word": {"type": "string", "maxLength": 3}},
    }
    given = state(schema, {"word": {"value": "long"}, "n": {"value": "1"}})
    found = filled(schema, given)
    assert isinstance(found, FormErrors)
    assert list(found.errors.values()) == ["Must have at most 3 characters", "Must be at least 3"]


def test_a_rule_about_the_whole_is_said_at_the_first_field() -> None:
    schema: JsonObject = {"properties": {"a": {"type": "string"}, "b": {}}, "minProperties": 1}
    found = filled(schema, {})
    assert isinstance(found, FormErrors)
    assert list(found.errors) == [fields(schema)[0].block]


@pytest.mark.parametrize(
    ("schema", "given", "value"),
    [
        ({"type": "string"}, {"value": " as typed "}, " as typed "),
        ({"type": "integer"}, {"value": " 12 "}, 12),
        ({"type": "number"}, {"value": "-1e3"}, -1000.0),
        ({"type": "number"}, {"value": "7"}, 7),
        ({"type": ["integer", "null"]}, {"value": None}, None),
        ({"type": ["string", "null"]}, {"value": "x"}, "x"),
        ({"type": "array"}, {"value": "[1, null]"}, [1, None]),
        ({"enum": [f"{n}" for n in range(200)]}, {"value": "150"}, "150"),
        ({"enum": [1, 0]}, {"selected_option": {"value": "1"}}, 0),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "string"}}}, {"value": "x"}, "x"),
        ({"type": "string", "format": "date"}, {"selected_date": "2026-12-01"}, "2026-12-01"),
        ({}, {"value": '{"a": 1}'}, {"a": 1}),
    ],
)
def test_an_answer_of_one_field(schema: JsonObject, given: JsonObject, value: Json) -> None:
    view_fits(view(card(schema=schema)))
    assert whole(schema, given) == value


@pytest.mark.parametrize(
    "typed", ["NaN", "Infinity", "1" + "[" * 50, "[" * 3_000, '{"a": NaN}', "{"]
)
def test_what_is_no_json_is_said(typed: str) -> None:
    assert isinstance(whole({}, {"value": typed}), FormErrors)


@pytest.mark.parametrize("typed", ["NaN", "inf", "1,5", "1e999", "0x1", "١٢"])
def test_what_is_no_number_is_said(typed: str) -> None:
    assert isinstance(whole({"type": "number"}, {"value": typed}), FormErrors)


HUGE: list[JsonObject] = [
    {"properties": {f"p{n}": {"type": "string"} for n in range(300)}},
    {
        "properties": {
            f"p{n}": {"enum": ["界" * 70 + str(m) for m in range(100)]} for n in range(40)
        }
    },
    {"properties": {f"p{n}": {"type": "object", "description": "界" * 9_000} for n in range(40)}},
    {"type": "object", "description": HOSTILE, "properties": {HOSTILE: {"title": HOSTILE}, "": {}}},
    {"$ref": "#/$defs/Node", "$defs": {"Node": {"properties": {"next": {"$ref": "#/$defs/Node"}}}}},
    {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}},
    {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    {"enum": [HOSTILE, f"{HOSTILE}!"]},
]


@pytest.mark.parametrize("schema", HUGE, ids=range(len(HUGE)))
def test_any_schema_makes_a_form_that_slack_shows(schema: JsonObject) -> None:
    view_fits(view(card(schema=schema, prompt=HOSTILE * 100)))


def test_a_deep_schema_is_filled_in_as_json() -> None:
    deep: JsonObject = {"type": "integer"}
    for _ in range(40):
        deep = {"type": "object", "properties": {"in": deep}, "required": ["in"]}
    view_fits(view(card(schema=deep)))
    value: Json = 7
    for _ in range(39):
        value = {"in": value}
    found = filled(deep, state(deep, {"in": {"value": json.dumps(value)}}))
    assert found == {"in": value}


names = st.sampled_from(["type", "enum", "properties", "anyOf", "title", "description", "items"])
schemas = st.recursive(
    st.sampled_from(["string", "integer", "boolean", "array", "object", "null", 7, None, "x" * 90]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=150)
@given(st.dictionaries(names, schemas, max_size=4))
def test_whatever_stands_in_a_schema_the_form_is_valid(schema: dict[str, Any]) -> None:
    view_fits(view(card(schema=schema)))


def test_the_reason_is_optional_and_as_long_as_the_engine_takes() -> None:
    made = reason_view(card())
    view_fits(made)
    (element,) = [one for one in elements(made["blocks"]) if one.get("action_id") == REASON]
    assert (made["callback_id"], made["private_metadata"]) == (REASON_FORM, REQUEST)
    assert element["max_length"] == 2_000


# -- as an answer --------------------------------------------------------------------------------------------
def answer(value: Any = MISSING, **reply: Json) -> Answer:
    return Answer(
        event_id="e",
        keys=(),
        request=REQUEST,
        shown="",
        digest="",
        by=Speaker(id="slack:T1:U1"),
        value=value,
        reply=reply,
    )


def test_an_answer_gets_its_value() -> None:
    colours: JsonObject = {"enum": ["red", "blue"]}
    assert completed(answer(True), colours).value is True  # type: ignore[union-attr]
    assert completed(answer(choice=1), colours) == answer("blue")
    never = answer(choice=9)
    assert completed(never, colours) is never
    text: JsonObject = {"type": "string"}
    filled = state(text, {"": {"value": "x"}})
    assert completed(answer(state=filled), text) == answer("x")
    assert isinstance(completed(answer(state={}), text), FormErrors)
