"""What JSON from elsewhere tells, read without trusting its shape: what isn't of the kind that was asked for is
empty."""

from __future__ import annotations

from gateway.cli.text import value
from gateway.engine.kinds import Json, JsonObject


def text_of(item: Json) -> str:
    """A value that may be text, for people: text as it is, everything else as JSON."""
    return item if isinstance(item, str) else "" if item is None else value(item)


def whole(item: Json) -> int:
    return int(item) if isinstance(item, int | float) and not isinstance(item, bool) else 0


def object_of(item: Json) -> JsonObject:
    return item if isinstance(item, dict) else {}


def items_of(item: Json) -> list[Json]:
    return item if isinstance(item, list) else []


def objects_of(item: Json) -> list[JsonObject]:
    return [object_of(one) for one in items_of(item)]
