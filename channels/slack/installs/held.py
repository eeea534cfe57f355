"""What is kept of an installation: the secrets that are sealed, and how they are got out of Slack's answers.

Source: "oauth.v2.access", "Token rotation" in Slack's docs (docs.slack.dev): ``expires_in`` is in seconds;
without rotation there is neither that nor a ``refresh_token``. Pure.
"""

from __future__ import annotations

import json
from typing import cast

from channels.slack.parsing.envelope import number, obj, text
from gateway.engine.kinds import Json, JsonObject, Millis
from gateway.engine.struct import struct

__all__ = ["Held", "about", "expiry", "opened", "told", "written"]


@struct(frozen=True, slots=True)
class Held:
    """The secrets of one installation."""

    token: str
    refresh: str | None = None


def about(key: str) -> str:
    """What sealed secrets are bound to: copied to another workspace's row, they don't open."""
    return f"slack:installation:{key}"


def written(held: Held) -> bytes:
    found: JsonObject = {"bot_token": held.token}
    if held.refresh:
        found["refresh_token"] = held.refresh
    return json.dumps(found).encode()


def opened(plain: bytes) -> Held | None:
    found = obj(cast("Json", json.loads(plain)))
    token = text(found, "bot_token")
    return Held(token, text(found, "refresh_token") or None) if token else None


def told(data: JsonObject) -> Held | None:
    """The bot's token in an answer of ``oauth.v2.access``; an app that was installed for a person only
    has none."""
    token = text(data, "access_token")
    if not token or text(data, "token_type") not in {"bot", ""}:
        return None
    return Held(token, text(data, "refresh_token") or None)


def expiry(data: JsonObject, now: Millis) -> Millis | None:
    seconds = number(data, "expires_in")
    return Millis(now + seconds * 1000) if seconds > 0 else None
