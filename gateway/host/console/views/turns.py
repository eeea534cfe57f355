"""Turns of every session, newest first."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.engine.kinds import JsonObject
from gateway.engine.records import TurnSummary
from gateway.host.console.seen import Seen
from gateway.host.console.views.session import turn_row

SHOWS = ("all", "running", "queued", "suspended", "completed", "failed", "timed_out", "cancelled")


async def turns(seen: Seen) -> JsonObject:
    async def fetch(state: str | None, limit: int) -> Sequence[TurnSummary]:
        return await seen.store.list_turns(state=state, limit=limit)

    return await seen.listed("turns", SHOWS, fetch, turn_row)
