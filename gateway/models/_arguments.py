"""A tool's arguments as the model wrote them: an object, or the reason why the call can't run."""

from __future__ import annotations

import json
import math
from typing import NoReturn, cast

from gateway.engine.kinds import Json, JsonObject

NOT_JSON = "The arguments are not valid JSON ({}), so the tool did not run. Send the call again."
NOT_AN_OBJECT = "The arguments are not a JSON object, so the tool did not run. Send one."

_DEEPEST = 100
_WIDEST_BITS = 4096
"""Beyond this no store prints an integer and no tool means one."""


def arguments(written: str) -> tuple[JsonObject, str | None]:
    """The object, or an empty one and what is wrong with it.

    Arguments arrive unchecked with ``eager_input_streaming`` (platform.claude.com, "Fine-grained
    tool streaming"). ``NaN`` and friends, which Python reads and JSON doesn't have, are refused too.
    """
    try:
        value = strict(written)
    except RecursionError:
        return {}, NOT_JSON.format("nested too deeply")
    except ValueError as error:
        return {}, NOT_JSON.format(str(error)[:200])
    if not isinstance(value, dict):
        return {}, NOT_AN_OBJECT
    return value, None


def strict(text: str) -> Json:
    """JSON that a store can keep. Raises ``ValueError``, or ``RecursionError``, for any other."""
    value = cast("Json", json.loads(text, parse_constant=_refuse))
    _check(value, 0)
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _check(value: Json, depth: int) -> None:
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    match value:
        case dict():
            for item in value.values():
                _check(item, depth + 1)
        case list():
            for item in value:
                _check(item, depth + 1)
        case bool():
            return
        case int() if value.bit_length() > _WIDEST_BITS:
            raise ValueError("a number is too long")
        case float() if not math.isfinite(value):
            raise ValueError("a number is too large")
        case _:
            return
