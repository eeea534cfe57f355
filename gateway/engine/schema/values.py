"""What a request asks for, and whether an answer fits.

``request_input(schema=…)`` takes a Python type or a JSON schema; the engine keeps the JSON schema. What each
function promises is said in the package, which imports this module when it is needed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from inspect import isfunction
from typing import cast

from jsonschema.protocols import Validator
from pydantic import TypeAdapter, ValidationError

from gateway.engine.errors import InputRequestError, InvalidInputError
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.schema.bounded import refuse_unbounded
from gateway.engine.schema.fit import make_validator, problems_of
from gateway.engine.schema.jsonable import to_json
from gateway.engine.schema.signature import SchemaGenerator, explain, strict_text, without_titles
from gateway.engine.wire import canonical


def value_schema(schema: object) -> JsonObject:
    if isinstance(schema, Mapping):
        return _given_schema(cast("Mapping[object, object]", schema))
    try:
        text = _type_schema(schema)
    except TypeError:  # an unhashable hint, such as Annotated with a list in it
        text = _type_schema.__wrapped__(schema)
    return cast("JsonObject", json.loads(text))


def _given_schema(schema: Mapping[object, object]) -> JsonObject:
    try:
        value = cast("JsonObject", to_json(schema))
        text = canonical(value)
        _validator(text)
    except (TypeError, ValueError) as error:
        raise InputRequestError(
            f"the schema of a request is no JSON schema: {error}",
            fix="pass a Python type such as bool, or a valid JSON schema",
        ) from error
    _bounded(text)
    return value


@lru_cache(maxsize=512)
def _bounded(schema_text: str) -> None:
    """Once for each schema. Raises ``InputRequestError``."""
    refuse_unbounded(cast("JsonObject", json.loads(schema_text)))


@lru_cache(maxsize=256)
def _type_schema(kind: object) -> str:
    try:
        if isfunction(kind):  # pydantic would take it for the call it stands for
            raise TypeError("a function is no type")
        schema = _adapter(kind).json_schema(schema_generator=SchemaGenerator)
    except Exception as error:
        why = str(error).partition("\n")[0]
        raise InputRequestError(
            f"the schema of a request can't be made from {kind!r}: {why}",
            fix="pass a type with a JSON form (bool, str, Literal, an Enum, a dataclass, a pydantic"
            " model) or a JSON schema",
        ) from error
    plain = without_titles(cast("JsonObject", schema))
    refuse_unbounded(plain)
    return json.dumps(plain)


def _adapter(kind: object) -> TypeAdapter[object]:
    try:
        return _cached_adapter(kind)
    except TypeError:
        return _cached_adapter.__wrapped__(kind)


@lru_cache(maxsize=256)
def _cached_adapter(kind: object) -> TypeAdapter[object]:
    make = cast("Callable[[object], TypeAdapter[object]]", TypeAdapter)
    return make(kind)


def parse_value(schema: object, value: Json) -> object:
    if isinstance(schema, Mapping):
        problem = check_value(_given_schema(cast("Mapping[object, object]", schema)), value)
        if problem is not None:
            raise InvalidInputError(problem)
        return value
    text = strict_text(value)
    if text is None:
        raise InvalidInputError(NOT_JSON)
    try:
        return _adapter(schema).validate_json(text, strict=True)
    except ValidationError as error:
        raise InvalidInputError(explain(error, value)) from None


NOT_JSON = "holds a number or a text that isn't valid JSON"


def check_value(schema: JsonObject, value: Json) -> str | None:
    if strict_text(value) is None:
        return NOT_JSON
    try:
        return problems_of(_validator(canonical(schema)), value)
    except (ArithmeticError, RecursionError):
        # multipleOf overflows on huge numbers; a schema may refer to itself.
        return "is too large or too deep to be checked"


@lru_cache(maxsize=512)
def _validator(schema_text: str) -> Validator:
    """Raises ``ValueError`` for a text that is no schema."""
    return make_validator(cast("JsonObject", json.loads(schema_text)))
