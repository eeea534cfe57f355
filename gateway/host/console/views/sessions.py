"""Conversations, the latest active first."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.engine.kinds import Json, JsonObject
from gateway.engine.records import SessionSummary
from gateway.host.console.seen import Seen
from gateway.host.console.views import links
from gateway.host.views import session_json

SHOWS = ("all", "running", "suspended", "idle")
TONES = {"running": "busy", "suspended": "wait", "resetting": "busy"}
WORDS = {"suspended": "waits for a decision", "new": "empty"}


async def sessions(seen: Seen) -> JsonObject:
    show = seen.choice("show", *SHOWS)
    status = None if show == "all" else show

    async def fetch(limit: int) -> Sequence[SessionSummary]:
        return await seen.store.list_sessions(status=status, limit=limit)

    found, pages = await seen.rows(fetch)
    rows: list[Json] = [row(one) for one in found]
    return {"show": show, "sessions": rows, **pages}


def row(found: SessionSummary) -> JsonObject:
    return {
        **session_json(found),
        "tone": TONES.get(found.status, "off"),
        "word": WORDS.get(found.status, found.status),
        "href": links.session(found.row.ref),
    }
