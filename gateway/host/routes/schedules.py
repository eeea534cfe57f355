"""Schedules: how they stand, and what people do to them."""

from __future__ import annotations

from aiohttp import web

from gateway.engine.kinds import Json, JsonObject
from gateway.host.problems import json_response
from gateway.host.routes.given import BY, LIMIT, by, limit
from gateway.host.shapes import (
    COUNT,
    MOMENT,
    STATES,
    listed,
    maybe,
    obj,
    one_of,
    ref,
    text,
)
from gateway.host.table import Call, Reply, Route

_OCCURRENCE: JsonObject = {
    "due": MOMENT,
    "outcome": one_of("fired", "skipped", "failed"),
    "by": text("cron:<schedule>, or who had it run."),
    "why": text("Why it was skipped, failed or comes late."),
    "at": MOMENT,
    "session": maybe(text()),
    "turn_id": maybe(text("The turn it opened.")),
    "state": maybe(STATES),
    "quiet": maybe(text("Why the turn had nothing to report.")),
    "delivery": maybe(ref("Delivery")),
}
_SCHEDULE: JsonObject = {
    "name": text(),
    "agent": text(),
    "cron": text(),
    "told": text("The same in words."),
    "timezone": text(),
    "target": maybe(text("Where its turns are shown, such as slack:C0123.")),
    "missed": one_of("skip", "latest", "all"),
    "within": {**COUNT, "description": "Seconds that a missed tick may be old."},
    "next": maybe(MOMENT),
    "paused_by": maybe(text()),
    "paused_at": maybe(MOMENT),
    "problem": maybe(text("What keeps it from working.")),
    "problem_at": maybe(MOMENT),
    "last": maybe(ref("Occurrence")),
}
COMPONENTS: JsonObject = {
    "Occurrence": obj(_OCCURRENCE, " ".join(_OCCURRENCE)),
    "Schedule": obj(
        {**_SCHEDULE, "history": listed(ref("Occurrence"))},
        " ".join(_SCHEDULE),
    ),
    "Schedules": obj({"schedules": listed(ref("Schedule"))}, "schedules"),
    "Fired": obj(
        {"turn_id": maybe(text("Null if it has nothing to ask.")), "session": maybe(text())},
        "turn_id session",
    ),
}


def schedule_routes() -> tuple[Route, ...]:
    one, unknown = "/schedules/{schedule}", (400, 404, 503)
    return (
        Route(
            method="GET",
            path="/schedules",
            name="schedules",
            about="The agent's schedules: when they run next, and what came of it last.",
            handler=schedules,
            right="read",
            replies={200: Reply(about="The schedules.", component="Schedules")},
            problems=(503,),
        ),
        Route(
            method="GET",
            path=one,
            name="schedule",
            about="One schedule and what came of its ticks, the latest due first.",
            handler=schedule,
            right="read",
            query=(LIMIT,),
            replies={200: Reply(about="The schedule.", component="Schedule")},
            problems=unknown,
        ),
        Route(
            method="POST",
            path=f"{one}/run",
            name="run_schedule",
            about="Fire a schedule now, whatever the clock says.",
            handler=run,
            right="admin",
            body=BY,
            body_optional=True,
            replies={202: Reply(about="Its turn is committed.", component="Fired")},
            problems=(*unknown, 409, 422, 429, 501, 502),
        ),
        Route(
            method="POST",
            path=f"{one}/pause",
            name="pause_schedule",
            about="Pass its ticks over from now on.",
            handler=pause,
            right="admin",
            body=BY,
            body_optional=True,
            replies={200: Reply(about="It is paused.", component="Schedule")},
            problems=unknown,
        ),
        Route(
            method="POST",
            path=f"{one}/resume",
            name="resume_schedule",
            about="Fire its ticks again, from now on: those that were passed over stay so.",
            handler=resume,
            right="admin",
            body=BY,
            body_optional=True,
            replies={200: Reply(about="It runs.", component="Schedule")},
            problems=unknown,
        ),
    )


async def schedules(call: Call) -> web.StreamResponse:
    book = call.api.schedules
    found = [] if book is None else await book.rows()
    rows: list[Json] = [call.api.names.throughout(row) for row in found]
    return json_response({"schedules": rows})


async def schedule(call: Call) -> web.StreamResponse:
    book, name = call.api.book(), call.path["schedule"]
    row = await book.row(name)
    history = await book.history(name, limit(call))
    return json_response(call.api.names.throughout({**row, "history": history}))


async def run(call: Call) -> web.StreamResponse:
    call.api.take_turns()
    fired = await call.api.book().run(call.path["schedule"], by(call))
    turn_id, session = (None, None) if fired is None else (fired.turn_id, fired.session)
    return json_response({"turn_id": turn_id, "session": session}, 202)


async def pause(call: Call) -> web.StreamResponse:
    book, name = call.api.book(), call.path["schedule"]
    await book.pause(name, by(call))
    return json_response(await book.row(name))


async def resume(call: Call) -> web.StreamResponse:
    book, name = call.api.book(), call.path["schedule"]
    by(call)
    await book.resume(name)
    return json_response(await book.row(name))
