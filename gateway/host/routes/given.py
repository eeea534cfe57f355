"""What several routes are given, and understand alike: how many rows, which ones, who wants it."""

from __future__ import annotations

from gateway.engine.kinds import JsonObject
from gateway.host.auth import decider
from gateway.host.shapes import IDENTITY, TEXT_PATTERN, obj, one_of, text
from gateway.host.table import Call, Query

ROWS = 50
LIMIT = Query(
    name="limit",
    schema={"type": "integer", "minimum": 1, "maximum": 500},
    about=f"How many rows at most, from 1 to 500; {ROWS} by default.",
)
BY = obj(
    {
        "by": {
            **IDENTITY,
            "description": "Who wants it, verified by the holder of the token; must lie within the"
            " token's identity prefixes.",
        }
    },
    additionalProperties=False,
)


def named(name: str, about: str, *values: str) -> Query:
    """A parameter that picks rows: one of ``values``, or any text where there are none."""
    schema: JsonObject = one_of(*values) if values else text(maxLength=512, pattern=TEXT_PATTERN)
    return Query(name=name, schema=schema, about=about)


def limit(call: Call) -> int:
    return int(call.query.get(LIMIT.name, ROWS))


def by(call: Call) -> str:
    """Raises ``ForbiddenError`` for an identity that the token may not assert."""
    who = decider(call.token, call.text("by"))
    return who.by if who.via is None else f"{who.by} via {who.via}"
