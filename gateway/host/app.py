"""The application: the route table on aiohttp, and problems for what no route takes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from aiohttp import web

from gateway.engine.errors import GatewayError, NotFoundError, TooLargeError
from gateway.host.api import Api
from gateway.host.openapi import document
from gateway.host.problems import BadRequestError, MethodError, json_response, problem
from gateway.host.routes import all_routes
from gateway.host.table import Call, Reply, Route, endpoint


def make_app(api: Api) -> web.Application:
    """The whole host as one application. Starting and stopping the runtime is the caller's."""
    # A body's size is checked where it is read; this is what nothing may pass in any case.
    app = web.Application(middlewares=[_no_route], client_max_size=api.body_bytes)
    routes = all_routes(api)
    add_routes(app, api, [*routes, openapi_route(routes, api)])
    return app


def add_routes(app: web.Application, api: Api, routes: Iterable[Route]) -> None:
    for route in routes:
        # The channel's own paths may be deeper than one segment.
        path = route.path.replace("{tail}", "{tail:.*}")
        app.router.add_route(route.method, path, endpoint(api, route))


def openapi_route(routes: Iterable[Route], api: Api) -> Route:
    listed = tuple(routes)

    async def openapi(call: Call) -> web.StreamResponse:
        return json_response(made)

    route = Route(
        method="GET",
        path="/openapi.json",
        name="openapi",
        about="This document.",
        handler=openapi,
        replies={200: Reply(about="It.", media=("application/json",))},
    )
    made = document([*listed, route], version=api.version, secured=bool(api.tokens))
    return route


@web.middleware
async def _no_route(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """What aiohttp itself refuses, as a problem like any other."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        if error.status < 400:
            raise
        headers = {name: error.headers[name] for name in ("Allow",) if name in error.headers}
        return problem(_as_problem(error), headers)


def _as_problem(error: web.HTTPException) -> GatewayError:
    match error.status:
        case 404:
            return NotFoundError("nothing is here", fix="see GET /openapi.json for what is")
        case 405:
            return MethodError("this path takes another method", fix="see the Allow header")
        case 413:
            return TooLargeError("the request is too large", fix="send less")
        case _:
            return BadRequestError(error.reason or "the request can't be understood")
