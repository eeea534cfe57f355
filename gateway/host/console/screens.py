"""The console over HTTP: each page as HTML and as JSON, each button as a form."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.engine.errors import GatewayError
from gateway.engine.kinds import JsonObject
from gateway.host.api import Api
from gateway.host.console.access.guard import check_csrf, require, visitor_of
from gateway.host.console.access.visitor import Role
from gateway.host.console.seen import Seen
from gateway.host.pages import add_room, page
from gateway.host.pages.forms import read_form
from gateway.host.pages.render import see_other
from gateway.host.problems import json_response, our_fault, problem, title

add_room("console", Path(__file__).parent)

log = logging.getLogger("gateway.console")

ROOT = "/console"

View = Callable[[Seen], Awaitable[JsonObject]]
Act = Callable[[Seen, Mapping[str, str]], Awaitable[str]]
"""What a form does. Returns the page that shows what came of it."""


@dataclass(frozen=True, slots=True)
class Screen:
    path: str
    template: str
    view: View
    refresh: int = 0
    """Seconds after which an open page asks again."""


@dataclass(frozen=True, slots=True)
class Button:
    path: str
    act: Act
    role: Role = "operator"


def add_screen(app: web.Application, api: Api, screen: Screen) -> None:
    async def html(request: web.Request) -> web.StreamResponse:
        seen = await look(api, request, "viewer")
        shown = await screen.view(seen)
        return page(
            request,
            f"console/{screen.template}.html",
            visitor=seen.visitor,
            now=seen.now,
            agent=api.agent,
            refresh=screen.refresh,
            needs=await needs(seen),
            query=f"?{request.query_string}" if request.query_string else "",
            it=shown,
        )

    async def plain(request: web.Request) -> web.StreamResponse:
        return json_response(await screen.view(await look(api, request, "viewer")))

    path = ROOT + screen.path
    # The JSON first: a name in a path would take its ``.json`` for a part of itself.
    app.router.add_get(f"{path}.json", guarded(api, f"console_{screen.template}_json", plain))
    app.router.add_get(path, guarded(api, f"console_{screen.template}", html))


def add_button(app: web.Application, api: Api, button: Button) -> None:
    async def post(request: web.Request) -> web.StreamResponse:
        await require(request, button.role)  # a stranger's body isn't read
        form = await read_form(request)
        seen = await look(api, request, button.role)  # the body may have taken its time
        check_csrf(request, form)
        return see_other(await button.act(seen, form))

    name = f"console_{button.act.__name__}"
    app.router.add_post(ROOT + button.path, guarded(api, name, post))


async def look(api: Api, request: web.Request, role: Role) -> Seen:
    visitor = await require(request, role)
    return Seen(api=api, request=request, visitor=visitor, now=api.runtime.clock.now())


async def needs(seen: Seen) -> dict[str, int]:
    """What the navigation counts: up to 99 of each."""
    waiting = await seen.store.list_requests(limit=99)
    dead = await seen.store.ledger.deliveries(state="dead", limit=99)
    counted = {"approvals": len(waiting), "deliveries": len(dead)}
    if seen.api.clerks.here:
        counted["mail"] = len(await seen.api.clerks.held(99))
    return counted


def guarded(api: Api, name: str, handler: Handler) -> Handler:
    """What goes wrong is a page for a person and a problem for a program."""

    async def serve(request: web.Request) -> web.StreamResponse:
        try:
            response = await handler(request)
        except web.HTTPException as error:
            api.metrics.request(name, request.method, error.status)
            raise
        except Exception as error:  # noqa: BLE001 - the last stop: it is logged whole
            response = await _told(api, request, error, name)
        api.metrics.request(name, request.method, response.status)
        return response

    return serve


async def _told(api: Api, request: web.Request, error: Exception, name: str) -> web.Response:
    """The problem that a program would get, shown to a person as a page."""
    if isinstance(error, GatewayError) and error.status != 500:
        told = error
    else:
        told = our_fault(error, name)
    if request.path.endswith(".json") or "text/html" not in request.headers.get("Accept", ""):
        return problem(told)
    inside = await _inside(api, request)
    return page(
        request,
        "console/problem.html" if inside else "problem.html",
        status=told.status,
        heading=title(told.status),
        detail=str(told),
        fix=told.fix,
        **inside,
    )


async def _inside(api: Api, request: web.Request) -> dict[str, object]:
    """What the navigation of somebody who is signed in takes; nothing where even that can't be read."""
    try:
        visitor = await visitor_of(request)
        if visitor is None:
            return {}
        seen = Seen(api=api, request=request, visitor=visitor, now=api.runtime.clock.now())
        shown = {"visitor": visitor, "agent": api.agent, "refresh": 0}
        return {**shown, "needs": await needs(seen)}
    except Exception:
        log.warning("an error page is shown without its navigation", exc_info=True)
        return {}
