"""What a request's JSON schema asks a person for."""

from __future__ import annotations

import json
from typing import Literal, cast

from gateway.engine.kinds import Json, JsonObject
from gateway.engine.schema.bounded import resolve

Asked = Literal["decision", "buttons", "select", "form"]

MOST_LABEL = 75
MOST_BUTTONS = 5
MOST_OPTIONS = 100
_DEEPEST = 16


def asked(schema: JsonObject) -> Asked:
    """How it is answered: yes or no, one of a few, one of many, or something to write."""
    options = choices(schema)
    if options is None and followed(schema, schema).get("type") == "boolean":
        return "decision"
    if not options or len(options) > MOST_OPTIONS:
        return "form"
    return "buttons" if len(options) <= MOST_BUTTONS else "select"


def choices(schema: JsonObject, whole: JsonObject | None = None) -> list[Json] | None:
    """The values that may be chosen from, if the schema names them."""
    part = followed(schema, schema if whole is None else whole)
    if isinstance(part.get("enum"), list):
        return cast("list[Json]", part["enum"])
    return [part["const"]] if "const" in part else None


def followed(part: Json, whole: JsonObject) -> JsonObject:
    """A part of a schema, or what it refers to."""
    for _ in range(_DEEPEST):
        if not isinstance(part, dict):
            return {}
        reference = part.get("$ref")
        if not isinstance(reference, str):
            return part
        try:
            rest = {name: value for name, value in part.items() if name != "$ref"}
            part = {**cast("JsonObject", resolve(reference, whole)), **rest}
        except LookupError:
            return {}
    return {}


def label(value: Json) -> tuple[str, bool]:
    """A choice as a control shows it, and whether that leaves something out."""
    said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    flat = "".join(c if c.isprintable() else " " for c in said)
    if not flat.strip():
        said = flat = json.dumps(value)
    return (flat, flat != said) if len(flat) <= MOST_LABEL else (f"{flat[: MOST_LABEL - 1]}…", True)


def labels(options: list[Json]) -> list[str]:
    """Labels that tell the choices apart: by number where their words don't."""
    made = [label(one)[0] for one in options]
    if len(set(made)) == len(made):
        return made
    return [f"{number}. {words}"[:MOST_LABEL] for number, words in enumerate(made, 1)]
