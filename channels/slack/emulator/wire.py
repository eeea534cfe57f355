"""How the Web API is spoken to: one set of arguments, wherever the client put them.

Slack's clients send arguments as JSON, as a form, as multipart or in the query string, some of them
half in one and half in another; booleans arrive as ``1`` and ``true``, blocks as JSON or as a string
that holds JSON; the token stands in ``Authorization`` or among the arguments, and the Node client
sends both; an app's own id and secret may come as HTTP Basic. An error is HTTP 200 with ``ok: false``.

Source: Slack docs "Using the Slack Web API"; slack_sdk/web/async_internal_utils.py.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from typing import cast
from urllib.parse import parse_qsl

from gateway.engine.kinds import Json, JsonObject

TRUE = frozenset({"1", "true", "True"})


class Refused(Exception):
    """``ok: false`` with this error, and whatever else the answer holds."""

    def __init__(self, error: str, **more: Json) -> None:
        super().__init__(error)
        self.error = error
        self.more = more

    def messages(self, told: Iterable[str]) -> Refused:
        """Add what Slack says about the details."""
        self.more["response_metadata"] = {"messages": list(told)}
        return self

    def body(self) -> JsonObject:
        return {"ok": False, "error": self.error, **self.more}


def an_object(value: Json) -> JsonObject:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def a_list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def objects(value: Json) -> list[JsonObject]:
    return [item for item in a_list(value) if isinstance(item, dict)]


def a_text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def merged(
    query: Iterable[tuple[str, str]], kind: str, body: bytes, parts: Mapping[str, str] | None = None
) -> JsonObject:
    """One set of arguments. ``parts`` are the text fields of a multipart body."""
    found: JsonObject = dict(query)
    if parts is not None:
        found.update(parts)
    elif kind == "application/json":
        found.update(_from_json(body))
    elif body:
        found.update(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
    return found


def _from_json(body: bytes) -> JsonObject:
    if not body.strip():
        return {}
    try:
        value = cast("Json", json.loads(body))
    except (ValueError, RecursionError):
        raise Refused("invalid_json") from None
    if not isinstance(value, dict):
        raise Refused("json_not_object")
    return value


def bearer(authorization: str, arguments: JsonObject) -> str:
    """The token, from the header first; taken out of the arguments."""
    inside = a_text(arguments.pop("token", None))
    scheme, _, value = authorization.partition(" ")
    return value.strip() if scheme.lower() == "bearer" and value.strip() else inside


def basic(authorization: str) -> JsonObject:
    """An app's id and secret, which ``oauth.v2.access`` also takes as HTTP Basic credentials."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() != "basic":
        return {}
    try:
        name, _, secret = base64.b64decode(value, validate=True).decode().partition(":")
    except ValueError:
        return {}
    return {"client_id": name, "client_secret": secret}


class Args:
    """The arguments of one call, read by type."""

    def __init__(self, given: JsonObject) -> None:
        self.given = given

    def has(self, name: str) -> bool:
        return self.given.get(name) not in {None, ""} if self._plain(name) else name in self.given

    def _plain(self, name: str) -> bool:
        return isinstance(self.given.get(name), str | None)

    def text(self, name: str) -> str:
        value = self.given.get(name)
        if isinstance(value, str):
            return value
        return "" if value is None or isinstance(value, dict | list) else str(value)

    def need(self, name: str, error: str = "invalid_arguments") -> str:
        if not (value := self.text(name)):
            raise Refused(error).messages([f"[ERROR] missing required field: {name}"])
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.given.get(name)
        if value is None or value == "":
            return default
        return value is True or str(value) in TRUE

    def number(self, name: str, default: int) -> int:
        try:
            return int(self.text(name) or default)
        except ValueError:
            raise Refused("invalid_arguments").messages([f"[ERROR] not a number: {name}"]) from None

    def _json(self, name: str, error: str) -> Json:
        value = self.given.get(name)
        if not isinstance(value, str):
            return value
        if not value:
            return None
        try:
            return cast("Json", json.loads(value))
        except (ValueError, RecursionError):
            raise Refused(error) from None

    def items(self, name: str, error: str) -> list[JsonObject] | None:
        """A list of objects, or nothing where there is none."""
        value = self._json(name, error)
        if value is None:
            return None
        if not isinstance(value, list) or len(objects(value)) != len(value):
            raise Refused(error).messages(
                [f"[ERROR] must be a list of objects [json-pointer:/{name}]"]
            )
        return objects(value)

    def object(self, name: str, error: str) -> JsonObject | None:
        value = self._json(name, error)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise Refused(error).messages([f"[ERROR] must be an object [json-pointer:/{name}]"])
        return value

    def names(self, name: str) -> list[str]:
        """A list of ids, also where it came as one string with commas."""
        value = self.given.get(name)
        if isinstance(value, list):
            return [item for item in value if isinstance(item, str)]
        return [part.strip() for part in self.text(name).split(",") if part.strip()]
