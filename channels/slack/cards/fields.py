"""The inputs of a form, made from a request's schema: one for each property of an object, else one for all.

Format ("Input block" in Slack's docs): an input has a ``label`` and one ``element``, which has an
``action_id`` of its own.
"""

from __future__ import annotations

import json
from typing import Literal

from channels.slack.cards import words
from channels.slack.cards.schemas import MOST_OPTIONS, choices, followed, labels
from channels.slack.parsing.envelope import obj, text
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.struct import struct

ENTERED = "entered"
"""The ``action_id`` of every element."""

MOST_FIELDS = 40
MOST_INPUTS = 100_000
"""Bytes of all inputs together, as ASCII, which counts a letter higher than Slack can."""

_MOST_HINT = 300

YES_NO: tuple[Json, ...] = (True, False)

Kind = Literal["text", "date", "whole", "number", "choice", "json"]


@struct(frozen=True, slots=True, kw_only=True)
class Field:
    """One input. ``name`` is the property it fills in; ``None`` if it is the whole answer."""

    block: str
    name: str | None
    label: str
    hint: str
    kind: Kind
    schema: JsonObject
    choices: list[Json] | None
    required: bool
    nullable: bool


def fields(schema: JsonObject) -> list[Field]:
    """One input for each property of an object, else one for the whole."""
    root = followed(schema, schema)
    properties = obj(root.get("properties"))
    if not 0 < len(properties) <= MOST_FIELDS:
        return [_field(0, None, root, schema, required=True)]
    required = root.get("required")
    needed = required if isinstance(required, list) else []
    found = [
        _field(n, name, part, schema, required=name in needed)
        for n, (name, part) in enumerate(properties.items())
    ]
    cost = sum(len(json.dumps(as_input(field))) for field in found)
    return found if cost <= MOST_INPUTS else [_field(0, None, root, schema, required=True)]


def _field(n: int, name: str | None, part: Json, whole: JsonObject, *, required: bool) -> Field:
    schema, nullable = _without_null(followed(part, whole), whole)
    options = choices(schema, whole)
    if options is not None and not 0 < len(options) <= MOST_OPTIONS:
        options = None
    kind = "choice" if options is not None else _kind(schema)
    if kind == "choice" and options is None:
        options = [*YES_NO]
    described = text(schema, "description") or text(obj(part), "description")
    expects = {"json": "As JSON.", "whole": "A whole number.", "number": "A number."}.get(kind, "")
    return Field(
        block=f"june.in.{n}",
        name=name,
        label=short(text(schema, "title"), 150) or short(name or "", 150) or "Your answer",
        hint=short(f"{described} {expects}".strip(), _MOST_HINT),
        kind=kind,
        schema=schema,
        choices=options,
        required=required,
        nullable=nullable,
    )


def _kind(schema: JsonObject) -> Kind:
    match schema.get("type"):
        case "boolean":
            return "choice"
        case "string":
            return "date" if schema.get("format") == "date" else "text"
        case "integer":
            return "whole"
        case "number":
            return "number"
        case _:
            return "text" if _texts(schema) else "json"


def _texts(schema: JsonObject) -> bool:
    """An enumeration of texts that is too long to choose from."""
    options = schema.get("enum")
    return isinstance(options, list) and all(isinstance(one, str) for one in options)


def _without_null(schema: JsonObject, whole: JsonObject) -> tuple[JsonObject, bool]:
    """What it is when it isn't empty, and whether it may be."""
    kinds = schema.get("type")
    if isinstance(kinds, list) and len(kinds) == 2 and "null" in kinds:
        other = next(kind for kind in kinds if kind != "null")
        return {**schema, "type": other}, True
    either = schema.get("anyOf")
    if isinstance(either, list) and len(either) == 2 and {"type": "null"} in either:
        other = next((one for one in either if one != {"type": "null"}), None)
        rest = {name: value for name, value in schema.items() if name != "anyOf"}
        return {**followed(other, whole), **rest}, True
    return schema, False


def short(said: str, most: int) -> str:
    flat = " ".join(said.split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"


def as_input(field: Field) -> JsonObject:
    made: JsonObject = {
        "type": "input",
        "block_id": field.block,
        "optional": not field.required or field.nullable,
        "label": words.plain(field.label),
        "element": _element(field),
    }
    return {**made, "hint": words.plain(field.hint)} if field.hint else made


def _element(field: Field) -> JsonObject:
    match field.kind:
        case "choice":
            options: list[Json] = [
                {"text": words.plain(one), "value": str(n)}
                for n, one in enumerate(_labels(field.choices or []))
            ]
            return {"type": "static_select", "action_id": ENTERED, "options": options}
        case "date":
            return {"type": "datepicker", "action_id": ENTERED}
        case _:
            longest = field.schema.get("maxLength")
            short = field.kind in {"whole", "number"} or (
                isinstance(longest, int) and longest <= 150
            )
            return {"type": "plain_text_input", "action_id": ENTERED, "multiline": not short}


def _labels(options: list[Json]) -> list[str]:
    return ["Yes", "No"] if options[0] is True and options[1:] == [False] else labels(options)
