"""The on-call page: what needs somebody, what runs, what came of the day."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.engine.kinds import Json, JsonObject, Millis
from gateway.engine.records import TurnSummary
from gateway.host.api import Api
from gateway.host.channels.registry import Registry
from gateway.host.console.seen import Seen
from gateway.host.console.views.schedules import read_rows
from gateway.host.console.views.session import turn_row
from gateway.host.routes.operate import readiness

MOST = 500
"""Rows that are looked at for a number: whoever has more knows it already."""
LATEST = 200
"""Turns that are looked at for what came of the day."""
RECENT = 8
DAY = 86_400_000


async def home(seen: Seen) -> JsonObject:
    store, api = seen.store, seen.api
    waiting = await store.list_requests(limit=MOST)
    dead = await store.ledger.deliveries(state="dead", limit=MOST)
    running = await store.list_turns(state="running", limit=MOST)
    queued = await store.list_turns(state="queued", limit=MOST)
    latest = await store.list_turns(limit=LATEST)
    held = await api.clerks.held(MOST) if api.clerks.here else None
    schedules = await read_rows(seen)
    _, problems = readiness(api)
    troubled = [one for one in schedules if one["problem"]]
    told: list[Json] = [*problems, *api.mistakes]
    channels = channel_rows(api)
    down = [one for one in channels if one["tone"] == "bad"]
    recent: list[Json] = [seen.names.beside(turn_row(one)) for one in latest[:RECENT]]
    return {
        "calm": not (waiting or dead or held or troubled or told or down),
        "problems": told,
        "approvals": len(waiting),
        "oldest_approval": waiting[0].request.created_at if waiting else None,
        "dead": len(dead),
        "held": None if held is None else len(held),
        "troubled": len(troubled),
        "running": len(running),
        "queued": len(queued),
        "today": today(latest, seen.now),
        "schedules": [*schedules],
        "channels": [*channels],
        "recent": recent,
        "store": store.dialect,
        "version": api.version,
        "started_at": api.started_at,
    }


def today(latest: Sequence[TurnSummary], now: Millis) -> JsonObject:
    """The day by UTC. ``more``: there were so many that the oldest weren't counted."""
    midnight = now - now % DAY
    turns = [one.turn for one in latest if one.turn.queued_at >= midnight]
    failed = sum(turn.state in {"failed", "timed_out"} for turn in turns)
    took = sorted(turn.ran for turn in turns if turn.state == "completed")
    return {
        "turns": len(turns),
        "more": len(turns) == LATEST,
        "failed": failed,
        "median": took[len(took) // 2] if took else None,
    }


def channel_rows(api: Api) -> list[JsonObject]:
    return [channel_row(name, api.registry) for name in api.registry.names]


def channel_row(name: str, registry: Registry) -> JsonObject:
    problem = registry.problem(name)
    if problem:
        tone, word, detail = "bad", "down", problem
    elif name in registry.channels:
        tone, word, detail = "good", "on", ""
    else:
        tone, word, detail = "off", "off", registry.off(name)
    return {"name": name, "tone": tone, "word": word, "detail": detail}
