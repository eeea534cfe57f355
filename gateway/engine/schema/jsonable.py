"""What a tool returns, as JSON: every value the docs promise, and a clear no for the rest."""

from __future__ import annotations

import dataclasses
import inspect
import math
import sys
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, TypeGuard, cast
from uuid import UUID

from gateway.engine.kinds import Json
from gateway.engine.wire import clean

if TYPE_CHECKING:
    from pydantic import BaseModel

_DEEPEST = 100
_WIDEST_BITS = 4096
"""Python refuses to print integers much above this; no peer would read them either."""


def to_json(value: object) -> Json:
    """The value as JSON. Raises ``TypeError`` that says where the value stops being JSON.

    Numbers that JSON can't hold become text (``"NaN"``), as do ``Decimal`` and dates; text loses
    the halves of surrogate pairs that no encoding knows.
    """
    return _convert(value, "", 0)


def _convert(value: object, path: str, depth: int) -> Json:
    if depth > _DEEPEST:
        raise TypeError(f"{_at(path[:80])} is nested deeper than {_DEEPEST} levels")
    if type(value) is str:  # what most results are made of, found at once
        return clean(value)
    if type(value) is dict:
        return _mapping(cast("Mapping[object, object]", value), path, depth)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return _convert(cast("object", value.value), path, depth + 1)
    if isinstance(value, str):
        return clean(str(value))
    if isinstance(value, int | float):
        return _number(value, path)
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value)
    return _container(value, path, depth)


def _number(value: int | float, path: str) -> Json:  # noqa: PYI041 - they go two ways
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _NOT_FINITE.get(value, "NaN")
    if value.bit_length() > _WIDEST_BITS:
        raise TypeError(
            f"{_at(path)} is an integer of {value.bit_length()} bits, too long for JSON"
        )
    return int(value)


_NOT_FINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}

_WRITERS: tuple[tuple[type, Callable[..., str | float]], ...] = (
    (Decimal, str),
    (datetime, datetime.isoformat),
    (date, date.isoformat),
    (time, time.isoformat),
    (timedelta, timedelta.total_seconds),
    (UUID, str),
)


def _container(value: object, path: str, depth: int) -> Json:
    if isinstance(value, Mapping):
        return _mapping(cast("Mapping[object, object]", value), path, depth)
    if isinstance(value, list | tuple):
        items = cast("list[object] | tuple[object, ...]", value)
        return [_convert(item, f"{path}[{n}]", depth + 1) for n, item in enumerate(items)]
    if isinstance(value, set | frozenset):
        members = [_convert(m, f"{path}{{…}}", depth + 1) for m in cast("set[object]", value)]
        # A set has no order of its own; a replayed call must write the same bytes.
        return sorted(members, key=repr)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return _mapping(cast("Mapping[object, object]", fields), path, depth)
    if _is_model(value):
        return _convert(_dump(value, path), path, depth + 1)
    raise TypeError(f"{_at(path)} is {_describe(value)}, which can't be written as JSON")


def _mapping(value: Mapping[object, object], path: str, depth: int) -> Json:
    out: dict[str, Json] = {}
    for key, item in value.items():
        name = _key(key, path)
        if name in out:
            raise TypeError(f"{_at(path)} has two keys that both read {name!r}")
        out[name] = _convert(item, f"{path}.{name}" if path else name, depth + 1)
    return out


def _key(key: object, path: str) -> str:
    if isinstance(key, Enum):
        key = cast("object", key.value)
    if isinstance(key, str):
        return clean(str(key))
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int | Decimal | date | UUID):
        return str(key)
    raise TypeError(f"{_at(path)} has a key of type {type(key).__name__}; JSON keys are text")


def _is_model(value: object) -> TypeGuard[BaseModel]:
    """Nothing is one before its class was imported."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(value, pydantic.BaseModel)


def _dump(model: BaseModel, path: str) -> object:
    try:
        return model.model_dump(mode="json")
    except Exception as error:
        why = str(error).partition("\n")[0]
        raise TypeError(
            f"{_at(path)} is a {type(model).__name__} that won't serialise: {why}"
        ) from error


def _at(path: str) -> str:
    return f"the result's {path}" if path else "the result"


def _describe(value: object) -> str:
    if inspect.isawaitable(value):
        return "something to await (an await is missing)"
    if isinstance(value, bytes | bytearray | memoryview):
        return "bytes (decode them, or return a reference)"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if callable(value):
        return "a function (a call is missing)"
    return f"of type {type(value).__name__}"
