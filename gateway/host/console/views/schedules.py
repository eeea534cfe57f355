"""Schedules: when they run next, and what came of it last."""

from __future__ import annotations

from typing import cast

from gateway.engine.kinds import Json, JsonObject, SessionRef
from gateway.host.console.seen import PAGE, Seen
from gateway.host.console.views import links
from gateway.host.console.views.standing import DELIVERY, TURN


async def schedules(seen: Seen) -> JsonObject:
    return {"schedules": [*await read_rows(seen)]}


async def schedule(seen: Seen) -> JsonObject:
    book, name = seen.api.book(), seen.request.match_info["schedule"]
    shown = row(await book.row(name))
    history = [came(_object(one), book.agent) for one in await book.history(name, PAGE)]
    return {**seen.names.beside(shown), "history": [seen.names.beside(one) for one in history]}


async def read_rows(seen: Seen) -> list[JsonObject]:
    book = seen.api.schedules
    return [] if book is None else [seen.names.throughout(row(one)) for one in await book.rows()]


def _object(value: Json) -> JsonObject:
    return cast("JsonObject", value)


def row(found: JsonObject) -> JsonObject:
    """A schedule as the book tells it, with words and links."""
    if found["problem"]:
        tone, word = "bad", "fails"
    elif found["paused_by"]:
        tone, word = "off", "paused"
    else:
        tone, word = "good", "on"
    last = found["last"]
    return {
        **found,
        "tone": tone,
        "word": word,
        "href": links.schedule(str(found["name"])),
        "last": None if last is None else came(_object(last), str(found["agent"])),
    }


def came(found: JsonObject, agent: str) -> JsonObject:
    """What came of one tick: that it fired isn't yet that somebody was told."""
    tone, word, why = _outcome(found)
    session, turn_id = found["session"], found["turn_id"]
    delivery = found["delivery"]
    return {
        **found,
        "tone": tone,
        "word": word,
        "told": why,
        "late": found["outcome"] == "fired" and bool(found["why"]),
        "href": None
        if session is None or turn_id is None
        else links.session(SessionRef(agent, str(session)), str(turn_id)),
        "delivery_href": links.delivery(cast("int", delivery["id"]))
        if isinstance(delivery, dict)
        else None,
    }


def _outcome(found: JsonObject) -> tuple[str, str, str]:
    why, delivery, state = str(found["why"]), found["delivery"], str(found["state"])
    if found["outcome"] == "failed":
        return "bad", "failed", why
    if found["outcome"] == "skipped":
        return "off", "skipped", why
    if found["quiet"] is not None:
        return "off", "nothing to report", str(found["quiet"])
    if state != "completed" or not isinstance(delivery, dict):
        return *TURN.of(state), why
    return *DELIVERY.of(str(delivery["state"])), why
