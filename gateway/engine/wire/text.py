"""JSON text: how it is spelled, cleaned, versioned and hashed."""

from __future__ import annotations

import hashlib
import json
from typing import cast

from pydantic_core import PydanticSerializationError, to_json

from gateway.engine.errors import GatewayError
from gateway.engine.kinds import Json, JsonObject

WIRE_VERSION = 1

_encoder = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)
_canonical = json.JSONEncoder(
    separators=(",", ":"), ensure_ascii=False, allow_nan=False, sort_keys=True
)


class UnknownWireVersion(GatewayError):
    code = "unknown_wire_version"


def clean(text: str) -> str:
    """Text without lone surrogates: they can't be encoded, so no store and no model takes them."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def dumps(value: Json) -> str:
    return clean(_encoder.encode(value))


def dumps_known(value: Json) -> str:
    """``dumps`` of what is known to be JSON: several times as fast, since it doesn't look."""
    try:
        text = to_json(value).decode()
    except PydanticSerializationError:  # half of a surrogate pair, or nested too deep
        return dumps(value)
    # The words for what isn't a number are written as they stand; the strict encoder refuses them.
    return dumps(value) if "NaN" in text or "Infinity" in text else text


def canonical(value: Json) -> str:
    """One spelling per value: what digests and keys are computed over."""
    return clean(_canonical.encode(value))


def loads(body: str) -> JsonObject:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise GatewayError(
            f"a stored record isn't JSON: {error}", fix="restore it from a backup"
        ) from error
    if not isinstance(value, dict):
        raise UnknownWireVersion(f"a stored record is not an object: {body[:40]!r}")
    return cast("JsonObject", value)


def digest(value: Json) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def versioned(body: str) -> JsonObject:
    value = loads(body)
    if value.get("v") != WIRE_VERSION:
        raise UnknownWireVersion(
            f"a stored record has wire version {value.get('v')!r}, this release reads {WIRE_VERSION}",
            fix="run the release that wrote it, or a newer one",
        )
    return value
