"""The OpenAPI document, made from the route table that the app serves from."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gateway.engine.kinds import Json, JsonObject
from gateway.host.auth import JSON
from gateway.host.problems import PROBLEM, title
from gateway.host.routes.mail import COMPONENTS as MAIL
from gateway.host.routes.schedules import COMPONENTS as SCHEDULES
from gateway.host.shapes import COMPONENTS, FREE, HISTORY, SESSION, ref, text
from gateway.host.table import Query, Reply, Route

PATH_PARAMETERS: dict[str, JsonObject] = {
    "agent": text("An agent of this host."),
    "session": SESSION,
    "history": HISTORY,
    "turn_id": text("A turn of this session."),
    "id": text("The opaque id of a request."),
    "delivery": text("The number of a delivery.", pattern="^[0-9]{1,18}$"),
    "schedule": text("A schedule of the agent: the name of its file."),
    "event": text("A mail, by its event's id."),
    "conversation": text("A conversation by mail, by its id or its session's key."),
    "name": text("A mounted channel."),
    "tail": text("A path of the channel's own."),
}


# The schema of an event stream is that of one frame.
MEDIA: dict[str, JsonObject] = {"text/event-stream": ref("Frame"), JSON: FREE}


def document(routes: Iterable[Route], *, version: str, secured: bool) -> JsonObject:
    paths: dict[str, JsonObject] = {}
    for route in routes:
        item = paths.setdefault(route.path, {})
        item[route.method.lower()] = _operation(route, secured=secured)
    components: JsonObject = {"schemas": {**COMPONENTS, **SCHEDULES, **MAIL}}
    if secured:
        components["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "June Gateway",
            "version": version or "0",
            "description": "Durable turns of agents. Errors are problems (RFC 9457) with a stable"
            " code; a turn that failed or was cancelled is an outcome and answers as itself.",
        },
        "paths": {**paths},
        "components": components,
    }


def _operation(route: Route, *, secured: bool) -> JsonObject:
    out: JsonObject = {
        "operationId": route.name,
        "summary": route.about,
        "responses": {str(code): reply for code, reply in _responses(route)},
    }
    if parameters := _parameters(route):
        out["parameters"] = parameters
    if route.body is not None:
        out["requestBody"] = {
            "required": not route.body_optional,
            "content": {"application/json": {"schema": route.body}},
        }
    if secured:
        out["security"] = [] if route.open else [{"bearer": []}]
    if route.right is not None:
        out["x-right"] = route.right
    return out


def _parameters(route: Route) -> list[Json]:
    names = re.findall(r"\{(\w+)", route.path)
    found: list[Json] = [
        {"name": name, "in": "path", "required": True, "schema": PATH_PARAMETERS[name]}
        for name in names
    ]
    found += [_parameter(query, "query") for query in route.query if query.offered]
    found += [_parameter(header, "header") for header in route.headers]
    return found


def _parameter(query: Query, place: str) -> JsonObject:
    return {
        "name": query.name,
        "in": place,
        "required": False,
        "description": query.about,
        "schema": query.schema,
    }


def problem_statuses(route: Route) -> set[int]:
    """Every status with which a problem may come."""
    found = set(route.problems)
    if not route.open:
        found |= {401, 403}
    if route.body is not None:
        found |= {400, 408, 413, 415}
    return found


def _responses(route: Route) -> Iterable[tuple[int, JsonObject]]:
    problems = problem_statuses(route)
    for code in sorted({*route.replies, *problems}):
        reply = route.replies.get(code, Reply(about=title(code)))
        content: dict[str, Json] = {}
        if reply.component is not None:
            content["application/json"] = {"schema": ref(reply.component)}
        for media in reply.media:
            content[media] = {"schema": MEDIA.get(media, text())}
        if code in problems:
            content[PROBLEM] = {"schema": ref("Problem")}
        out: JsonObject = {"description": reply.about}
        if content:
            out["content"] = content
        yield code, out
