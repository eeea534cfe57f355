"""Turns of every session, newest first."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.engine.kinds import Json, JsonObject
from gateway.engine.records import TurnSummary
from gateway.host.console.seen import Seen
from gateway.host.console.views.session import turn_row

SHOWS = ("all", "running", "queued", "suspended", "completed", "failed", "timed_out", "cancelled")


async def turns(seen: Seen) -> JsonObject:
    show = seen.choice("show", *SHOWS)
    state = None if show == "all" else show

    async def fetch(limit: int) -> Sequence[TurnSummary]:
        return await seen.store.list_turns(state=state, limit=limit)

    found, pages = await seen.rows(fetch)
    rows: list[Json] = [turn_row(one) for one in found]
    return {"show": show, "turns": rows, **pages}
