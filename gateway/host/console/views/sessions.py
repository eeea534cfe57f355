"""Conversations, the latest active first."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.engine.kinds import JsonObject
from gateway.engine.records import SessionSummary
from gateway.host.console.seen import Seen
from gateway.host.console.views import links
from gateway.host.console.views.standing import SESSION
from gateway.host.views import session_json

SHOWS = ("all", "running", "suspended", "idle")


async def sessions(seen: Seen) -> JsonObject:
    async def fetch(status: str | None, limit: int) -> Sequence[SessionSummary]:
        return await seen.store.list_sessions(status=status, limit=limit)

    return await seen.listed("sessions", SHOWS, fetch, row)


def row(found: SessionSummary) -> JsonObject:
    return {
        **session_json(found),
        **SESSION.row(found.status),
        "href": links.session(found.row.ref),
    }
