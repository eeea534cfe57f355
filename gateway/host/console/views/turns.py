"""Turns of every session, newest first, and those that somebody looks for by what they were told."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.engine.kinds import JsonObject
from gateway.engine.records import TurnSummary
from gateway.host.console.seen import PAGE, Seen
from gateway.host.console.views.session import turn_row
from gateway.outbox.reference import reference_of

SHOWS = ("all", "running", "queued", "suspended", "completed", "failed", "timed_out", "cancelled")
FOUND_AMONG = 500
"""The latest turns, which are looked through."""


async def turns(seen: Seen) -> JsonObject:
    async def fetch(state: str | None, limit: int) -> Sequence[TurnSummary]:
        return await seen.store.list_turns(state=state, limit=limit)

    wanted = seen.word("find").strip()
    if not wanted:
        return {**await seen.listed("turns", SHOWS, fetch, turn_row), "find": ""}
    rows = [turn_row(one) for one in await fetch(None, FOUND_AMONG)]
    found = [seen.names.beside(row) for row in rows if _means(row, wanted)][:PAGE]
    return {"show": "all", "find": wanted, "turns": [*found], "newer": None, "older": None}


def _means(row: JsonObject, wanted: str) -> bool:
    """By the reference that a person was given, by its id or its session's, or by what was asked."""
    if reference_of(str(row["turn_id"])) == wanted.lower():
        return True
    told = (str(row[name]).casefold() for name in ("turn_id", "session", "opening"))
    return any(wanted.casefold() in one for one in told)
