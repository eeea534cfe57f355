"""Schemas and values: from type hints to what a model sees, from an answer to what a tool gets.

What does the work, pydantic and jsonschema, is imported with the first schema that is made or checked: as
a rule that is a tool's, before a host serves. Who only looks into a store needs neither.
"""

from __future__ import annotations

from gateway.engine.kinds import Json, JsonObject
from gateway.engine.schema.jsonable import to_json

__all__ = ["check_value", "parse_value", "to_json", "value_schema"]


def check_value(schema: JsonObject, value: Json) -> str | None:
    """What keeps a value from fitting a JSON schema, in one line for a person; ``None`` if it fits."""
    from gateway.engine.schema import values

    return values.check_value(schema, value)


def parse_value(schema: object, value: Json) -> object:
    """An answer as the tool asked for it: an instance of the type, or the plain JSON when the
    tool gave a JSON schema. Raises ``InvalidInputError``."""
    from gateway.engine.schema import values

    return values.parse_value(schema, value)


def value_schema(schema: object) -> JsonObject:
    """The JSON schema of a Python type, or the given JSON schema once it is known to be one.

    Raises ``InputRequestError``.
    """
    from gateway.engine.schema import values

    return values.value_schema(schema)
