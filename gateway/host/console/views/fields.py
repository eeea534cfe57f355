"""The form field that an answer is given in, made from the request's schema, and the answer read back
out of the form. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal, cast

from gateway.engine.errors import InvalidInputError
from gateway.engine.kinds import Json, JsonObject
from gateway.host.problems import BadRequestError

Kind = Literal["yesno", "choice", "text", "number", "json"]


def kind_of(schema: JsonObject) -> Kind:
    if schema.get("type") == "boolean":
        return "yesno"
    choices = schema.get("enum")
    if isinstance(choices, list) and choices and all(isinstance(one, str) for one in choices):
        return "choice"
    match schema.get("type"):
        case "string":
            return "text"
        case "integer" | "number":
            return "number"
        case _:
            return "json"


def field(schema: JsonObject) -> JsonObject:
    """What a template needs to draw the field."""
    kind = kind_of(schema)
    drawn: JsonObject = {"kind": kind}
    match kind:
        case "choice":
            drawn["choices"] = schema["enum"]
        case "text":
            drawn["longest"] = schema.get("maxLength")
        case "number":
            drawn["step"] = "1" if schema.get("type") == "integer" else "any"
        case "json":
            drawn["schema"] = schema
        case "yesno":
            pass
    return drawn


def answer(schema: JsonObject, form: Mapping[str, str]) -> Json:
    """The answer that a form holds. Whether it fits the schema is the engine's to say.

    Raises ``InvalidInputError`` for what can't be read, ``BadRequestError`` for a form of another page.
    """
    kind = kind_of(schema)
    name = "decision" if kind == "yesno" else "value"
    if name not in form:
        raise BadRequestError("the form holds no answer", fix="load the page again")
    given = form[name]
    if kind == "yesno":
        if given not in {"approve", "deny"}:
            raise BadRequestError("the form holds no decision", fix="press Approve or Deny")
        return given == "approve"
    if kind in {"choice", "text"}:
        return given.replace("\r\n", "\n")
    try:
        found = cast("Json", json.loads(given, parse_constant=_no_constant))
    except (ValueError, RecursionError) as error:
        what = "a number" if kind == "number" else "JSON"
        raise InvalidInputError(
            f"the answer isn't {what}", fix="go back and write it anew"
        ) from error
    return found


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} isn't JSON")
