"""A value against a JSON schema: jsonschema decides, the words are ours.

They are read by the person who filled in the form, so they say what is wanted, never how the
schema is written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from typing import cast
from uuid import UUID

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend  # pyright: ignore[reportUnknownVariableType] - untyped

from gateway.engine.kinds import Json, JsonObject
from gateway.engine.schema.bounded import (
    check_named_by_pattern,
    check_other_names,
    check_pattern,
    resolve,
    unnamed,
)

DECIMAL_PATTERN = r"^-?\d+(\.\d+)?$"
_SHOWN = 5
_LONGEST = 1000
_LONGEST_VALUE = 200


def make_validator(schema: JsonObject) -> Validator:
    """Raises ``ValueError`` when ``schema`` isn't one, or refers to something outside itself."""
    try:
        Draft202012Validator.check_schema(
            schema, format_checker=Draft202012Validator.FORMAT_CHECKER
        )
    except SchemaError as error:
        raise ValueError(_short(error.message)) from error
    for reference in _references(schema):
        # Also because jsonschema would fetch what a reference names by its address.
        if not _leads_somewhere(reference, schema):
            raise ValueError(f"{reference!r} leads to nothing inside the schema")
    # With a dialect named, jsonschema would go on with its own validator where a reference leads.
    rules = {name: part for name, part in schema.items() if name != "$schema"}
    return _BOUNDED(rules, format_checker=_formats())


_extend = cast("Callable[..., type[Draft202012Validator]]", extend)
_BOUNDED = _extend(
    Draft202012Validator,
    {
        "pattern": check_pattern,
        "patternProperties": check_named_by_pattern,
        "additionalProperties": check_other_names,
    },
)


def _references(schema: Json) -> Iterable[str]:
    if isinstance(schema, dict):
        for name, part in schema.items():
            if name in ("$ref", "$dynamicRef") and isinstance(part, str):
                yield part
            yield from _references(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _references(part)


def _leads_somewhere(reference: str, schema: JsonObject) -> bool:
    try:
        resolve(reference, schema)
    except LookupError:
        return False
    return True


def _formats() -> FormatChecker:
    checker = FormatChecker(formats=())

    def register(name: str, parse: Callable[[str], object]) -> None:
        def fits(value: object) -> bool:
            if isinstance(value, str):
                parse(value)
            return True

        checker.checks(name, raises=ValueError)(fits)

    register("date", date.fromisoformat)
    register("date-time", datetime.fromisoformat)
    register("uuid", UUID)
    return checker


def one_line(text: str) -> str:
    """Names come from outside, and may hold line breaks or go on for ever."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else f"{flat[: _LONGEST - 1]}…"


def problems_of(validator: Validator, value: Json) -> str | None:
    lines: list[str] = []
    for error in sorted(validator.iter_errors(value), key=_order):
        where = _path(error)
        line = f"{where}: {_words(error)}" if where else _words(error)
        if line not in lines:
            lines.append(line)
    if len(lines) > _SHOWN:
        lines[_SHOWN:] = [f"and {len(lines) - _SHOWN} more"]
    return one_line("; ".join(lines)) or None


def _order(error: ValidationError) -> tuple[list[str], str]:
    return ([str(step) for step in error.absolute_path], str(error.validator))


def _path(error: ValidationError) -> str:
    path = ""
    for step in error.absolute_path:
        path += f"[{step}]" if isinstance(step, int) else (f".{step}" if path else step)
    if error.validator == "required":
        name = _missing(error)
        return f"{path}.{name}" if path else name
    return path


def _missing(error: ValidationError) -> str:
    present = cast("dict[str, Json]", error.instance)
    required = cast("Sequence[str]", error.validator_value)
    # One error per missing name, and its message opens with the name it is about.
    absent = [name for name in required if name not in present]
    return next((name for name in absent if error.message.startswith(repr(name))), absent[0])


def _words(error: ValidationError) -> str:  # noqa: PLR0911 - a table of rules
    rule = cast("object", error.validator_value)
    match error.validator:
        case "required":
            return "missing"
        case "type":
            return f"must be {_kinds(rule)}"
        case "enum":
            return f"must be one of {_listed(cast('list[Json]', rule))}"
        case "const":
            return f"must be {_shown(cast('Json', rule))}"
        case "anyOf" | "oneOf":
            return _alternatives(error)
        case "additionalProperties" | "unevaluatedProperties":
            return _unknown_fields(error)
        case "format":
            return f"must be a valid {rule}"
        case "pattern":
            if rule == DECIMAL_PATTERN:
                return "must be a decimal number, like 12.50"
            return f"must match the pattern {rule}"
        case _:
            return _limits(str(error.validator), rule) or _short(error.message)


_LIMITS = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be above {}",
    "exclusiveMaximum": "must be below {}",
    "multipleOf": "must be a multiple of {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} entries",
    "maxItems": "must have at most {} entries",
    "minProperties": "must have at least {} fields",
    "maxProperties": "must have at most {} fields",
}


def _limits(name: str, rule: object) -> str | None:
    if name == "uniqueItems":
        return "must not repeat an entry"
    template = _LIMITS.get(name)
    return None if template is None else template.format(rule)


_KINDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "empty",
}


def _kinds(rule: object) -> str:
    names = cast("list[str]", rule) if isinstance(rule, list) else [str(rule)]
    return " or ".join(_KINDS.get(name, name) for name in names)


def _alternatives(error: ValidationError) -> str:
    here = [cause for cause in error.context or () if not cause.path]
    kinds = [_words(cause).removeprefix("must be ") for cause in here if cause.validator == "type"]
    if kinds and len(here) == len(kinds) == len(error.context or ()):
        return f"must be {' or '.join(dict.fromkeys(kinds))}"
    # Speak of the branch that the value is of the right kind for, if there is just one.
    others = [cause for cause in error.context or () if cause.validator != "type" or cause.path]
    branches = {str(cause.relative_schema_path[0]) for cause in others}
    if len(branches) == 1:
        return "; ".join(
            f"{_inner(cause)}{_words(cause)}" for cause in sorted(others, key=_order)[:_SHOWN]
        )
    return "fits none of the allowed forms"


def _inner(cause: ValidationError) -> str:
    path = ".".join(str(step) for step in cause.path)
    if cause.validator == "required":
        path = f"{path}.{_missing(cause)}" if path else _missing(cause)
    return f"{path}: " if path else ""


def _unknown_fields(error: ValidationError) -> str:
    unknown = unnamed(cast("JsonObject", error.instance), cast("JsonObject", error.schema))
    return f"has no field {_listed(unknown)}" if unknown else _short(error.message)


def _listed(values: Sequence[Json]) -> str:
    shown = ", ".join(_shown(value) for value in values[:20])
    return shown if len(values) <= 20 else f"{shown}, …"


def _shown(value: Json) -> str:
    return _short(json.dumps(value, ensure_ascii=False))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
