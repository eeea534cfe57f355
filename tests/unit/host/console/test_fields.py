"""Answers by form: which field a schema gets, and what is read back from it."""

from __future__ import annotations

import pytest

from gateway.engine.errors import InvalidInputError
from gateway.engine.kinds import Json, JsonObject
from gateway.host.console.views.fields import answer, field
from gateway.host.problems import BadRequestError


@pytest.mark.parametrize(
    ("schema", "kind", "form", "value"),
    [
        ({"type": "boolean"}, "yesno", {"decision": "approve"}, True),
        ({"type": "boolean"}, "yesno", {"decision": "deny"}, False),
        ({"enum": ["red", "blue"]}, "choice", {"value": "blue"}, "blue"),
        ({"type": "string"}, "text", {"value": "a\r\nb"}, "a\nb"),
        ({"type": "integer"}, "number", {"value": "12"}, 12),
        ({"type": "number"}, "number", {"value": "1.5"}, 1.5),
        ({"type": "object"}, "json", {"value": '{"a": [1]}'}, {"a": [1]}),
        ({}, "json", {"value": "null"}, None),
        ({"enum": [1, 2]}, "json", {"value": "2"}, 2),
        ({"type": ["string", "null"]}, "json", {"value": '"x"'}, "x"),
    ],
)
def test_a_schema_has_its_field(
    schema: JsonObject, kind: str, form: dict[str, str], value: Json
) -> None:
    assert field(schema)["kind"] == kind
    assert answer(schema, form) == value


@pytest.mark.parametrize("text", ["", "x", "NaN", "{", "[" * 100_000])
def test_what_cant_be_read_is_said(text: str) -> None:
    with pytest.raises(InvalidInputError):
        answer({"type": "number"}, {"value": text})


@pytest.mark.parametrize("form", [{}, {"value": "true"}, {"decision": "true"}])
def test_a_decision_is_one_of_two_words(form: dict[str, str]) -> None:
    with pytest.raises(BadRequestError):
        answer({"type": "boolean"}, form)
