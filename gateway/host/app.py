"""The application: the route table on aiohttp, and problems for what no route takes.

What the HTTP parser can't read reaches no route and no middleware: aiohttp answers it itself, in
plain text, and logs a stack trace for what a stranger sent; so it does for a body that nobody read.
``HostRunner`` says it as the host says everything else. An application that embeds the gateway brings
its own runner, and keeps aiohttp's answers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import LineTooLong
from aiohttp.typedefs import Handler
from typing_extensions import override

from gateway.engine.errors import GatewayError, NotFoundError, TooLargeError
from gateway.host.api import Api
from gateway.host.console.access.pages import add_access
from gateway.host.console.routes import add_console
from gateway.host.openapi import document
from gateway.host.problems import (
    BadRequestError,
    MethodError,
    json_response,
    problem,
    unforeseen,
)
from gateway.host.routes import all_routes
from gateway.host.table import Call, Reply, Route, endpoint

log = logging.getLogger("gateway.host")

IDLE_SECONDS = 620.0
"""How long a connection may take to its next whole request head. Longer than proxies keep theirs, which is
600 s at Google's: one that ends just as the proxy sends a request on it costs somebody that request."""


def make_app(api: Api) -> web.Application:
    """The whole host as one application. Starting and stopping the runtime is the caller's."""
    # A body's size is checked where it is read; this is what nothing may pass in any case.
    app = web.Application(middlewares=[_no_route], client_max_size=api.body_bytes)
    routes = all_routes(api)
    add_routes(app, api, [*routes, openapi_route(routes, api)])
    if api.access is not None:
        add_access(app, api.access, api.tokens)
        add_console(app, api)
    return app


def add_routes(app: web.Application, api: Api, routes: Iterable[Route]) -> None:
    for route in routes:
        # The channel's own paths may be deeper than one segment.
        path = route.path.replace("{tail}", "{tail:.*}")
        serve = endpoint(api, route)
        app.router.add_route(route.method, path, serve)
        if route.method == "GET" and path.startswith("/channels/"):
            # People's mail is looked after by scanners, which ask for the head of a page first.
            app.router.add_route("HEAD", path, serve)


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
async def _no_route(request: web.Request, handler: Handler) -> web.StreamResponse:
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


# -- below the application ---------------------------------------------------------------------------
class HostRunner(web.AppRunner):
    """Runs the host's application on connections that speak problems. No line per request is logged."""

    def __init__(
        self, app: web.Application, *, shutdown_timeout: float, idle: float = IDLE_SECONDS
    ) -> None:
        super().__init__(app, access_log=None, shutdown_timeout=shutdown_timeout)
        self._idle = idle

    @override
    async def _make_server(self) -> web.Server:
        made = await super()._make_server()
        server = _Server(made.request_handler, request_factory=made.request_factory)
        server.idle = self._idle
        return server


class _Server(web.Server):
    idle: float

    @override
    def __call__(self) -> web.RequestHandler:
        return _Connection(
            self,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=self.idle,
            access_log=None,  # type: ignore[arg-type]  # None: no log
        )


class _Connection(web.RequestHandler):
    """One connection. It ends after an error: where the next request would begin, nobody knows."""

    __slots__ = ()

    @override
    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if request.writer.output_size > 0:
            raise ConnectionError("the response has begun, and can't become an error any more")
        if status < 500:
            # The parser's own words quote what was sent: a header may hold a token.
            log.info("%s sent what isn't HTTP: %s", request.remote, type(exc).__name__)
            response = problem(_refused(exc))
        else:
            failed = exc if isinstance(exc, Exception) else TimeoutError("it took too long")
            response = unforeseen(failed, "a request", {})
        response.force_close()
        return response

    @override
    def log_exception(self, *args: Any, **kw: Any) -> None:
        """What is left of a body is read when its request was answered: that it can't be unpacked is its
        sender's doing."""
        if isinstance(error := kw.get("exc_info"), web.RequestPayloadError):
            log.info("a body can't be read: %s", type(error.__cause__ or error).__name__)
        else:
            super().log_exception(*args, **kw)


def _refused(exc: BaseException | None) -> BadRequestError:
    if isinstance(exc, LineTooLong):
        return BadRequestError("the request line or a header is too long", fix="send less in it")
    return BadRequestError(
        "this can't be read as an HTTP request", fix="check its request line and its headers"
    )
