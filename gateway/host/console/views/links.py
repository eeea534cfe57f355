"""Where things are in the console. Keys may hold anything, so they stand in the query."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from gateway.engine.errors import NotFoundError
from gateway.engine.kinds import SessionRef


def session(ref: SessionRef, turn_id: str | None = None) -> str:
    asked = {"agent": ref.agent, "key": ref.key}
    if turn_id is not None:
        asked["turn"] = turn_id
    return f"/console/session?{urlencode(asked)}"


def approval(request_id: str) -> str:
    return f"/console/approvals/{quote(request_id, safe='')}"


def delivery(number: int) -> str:
    return f"/console/deliveries/{number}"


def mail(event: str) -> str:
    return f"/console/mail/{quote(event, safe='')}"


def conversation(key: str) -> str:
    return f"/console/conversations/{quote(key, safe='')}"


def schedule(name: str) -> str:
    return f"/console/schedules/{quote(name, safe='')}"


def number(text: str) -> int:
    """The number in an address. Raises ``NotFoundError`` for what is none."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise NotFoundError("nothing is here", fix="follow a link of the page instead")
    return int(text)
