"""What somebody filled in, as the value that was asked for. Pure.

Format ("view_submission payload" in Slack's docs): what was entered comes in ``state.values`` under the
input's ``block_id`` and the element's ``action_id``: ``value`` of a text, ``selected_option`` of a select,
``selected_date`` of a date. An answer with ``response_action: errors`` shows one text for each ``block_id``
and leaves the form open.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import cast

from channels.slack.cards.fields import ENTERED, Field, Kind, fields, short
from channels.slack.parsing.envelope import obj, text
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.schema import check_value
from gateway.engine.struct import struct

_MOST_ERROR = 300

_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")
_NUMBER = re.compile(r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")


@struct(frozen=True, slots=True)
class FormErrors:
    """Why a form can't be taken as it is, by block."""

    errors: Mapping[str, str]


class _Wrong(Exception):
    """What was entered isn't of the kind that the input takes."""


def filled(schema: JsonObject, state: JsonObject) -> Json | FormErrors:
    """The answer that a form holds; ``state`` is by block and element."""
    asked = fields(schema)
    found: JsonObject = {}
    errors: dict[str, str] = {}
    for field in asked:
        name = field.name or ""
        try:
            entered = _entered(field, obj(obj(state.get(field.block)).get(ENTERED)))
        except _Wrong as wrong:
            errors[field.block] = str(wrong)
            continue
        if entered is None:
            if field.nullable:
                found[name] = None
            elif field.required:
                errors[field.block] = "This is needed."
            continue
        found[name] = entered[0]
        if problem := _problem(field, entered[0], schema):
            errors[field.block] = problem
    if errors:
        return FormErrors(errors)
    value: Json = found[""] if asked[0].name is None else found
    problem = check_value(schema, value)
    return value if problem is None else FormErrors({asked[0].block: _said(problem)})


def _entered(field: Field, element: JsonObject) -> tuple[Json] | None:
    """What one input holds; ``None`` where it was left empty."""
    if field.kind == "choice":
        number = text(obj(element.get("selected_option")), "value")
        options = field.choices or []
        if not number:
            return None
        if not number.isascii() or not number.isdecimal() or int(number) >= len(options):
            raise _Wrong("Choose one of the options.")
        return (options[int(number)],)
    if field.kind == "date":
        day = text(element, "selected_date")
        return (day,) if day else None
    typed = text(element, "value")
    return (_read(field.kind, typed),) if typed else None


def _read(kind: Kind, typed: str) -> Json:
    match kind:
        case "whole":
            if not _WHOLE.fullmatch(typed):
                raise _Wrong("Write a whole number, such as 12.")
            return int(typed)
        case "number":
            if not _NUMBER.fullmatch(typed):
                raise _Wrong("Write a number, such as 12.5.")
            return int(typed) if _WHOLE.fullmatch(typed) else float(typed)
        case "json":
            try:
                return cast("Json", json.loads(typed, parse_constant=_no_number))
            except (ValueError, RecursionError) as error:
                raise _Wrong('Write JSON, such as ["a", "b"] or {"a": 1}.') from error
        case _:
            return typed


def _no_number(word: str) -> Json:
    raise ValueError(word)


def _problem(field: Field, value: Json, whole: JsonObject) -> str | None:
    schema = {**field.schema, "$defs": whole.get("$defs", {})}
    try:
        problem = check_value(schema, value)
    except ValueError:
        return None  # it refers to another part of the whole, which is checked as a whole
    return None if problem is None else _said(problem)


def _said(problem: str) -> str:
    return short(f"{problem[0].upper()}{problem[1:]}", _MOST_ERROR)
