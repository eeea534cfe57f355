"""The route table. Each route says all that is true of it once: the app serves from it, the body is
checked by it, ``/openapi.json`` prints it.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, cast

from aiohttp import typedefs, web

from gateway.engine.errors import GatewayError, NotFoundError, TooLargeError
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.schema import check_value
from gateway.host.auth import ANONYMOUS, JSON, authenticate, require
from gateway.host.problems import (
    BadRequestError,
    MediaTypeError,
    SlowRequestError,
    problem,
    unforeseen,
)
from gateway.values import ApiToken, Right

if TYPE_CHECKING:
    from gateway.host.api import Api

BODY_SECONDS = 30.0
"""How long a caller may take to send a body."""

_WHOLE = re.compile(r"[0-9]{1,18}")
"""Longer ones are beyond every bound, and Python refuses to read the longest."""

Handler = Callable[["Call"], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A parameter. One that isn't ``offered`` is understood, and left out of the document: this host
    would only refuse it."""

    name: str
    schema: JsonObject
    about: str
    offered: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a status carries: a component's JSON, or another media type, or nothing."""

    about: str
    component: str | None = None
    media: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """``open`` routes need no token; the others need ``right``, or any token where it is ``None``.

    ``problems`` are the statuses of problems beyond those that every route of its kind has.
    """

    method: Literal["GET", "POST"]
    path: str
    name: str
    about: str
    handler: Handler
    right: Right | None = None
    open: bool = False
    query: tuple[Query, ...] = ()
    headers: tuple[Query, ...] = ()
    body: JsonObject | None = None
    body_optional: bool = False
    replies: Mapping[int, Reply] = field(default_factory=dict[int, Reply])
    problems: tuple[int, ...] = ()


@dataclass(slots=True, kw_only=True)
class Call:
    """One request, understood: who calls, what the path and the query say, the body as checked."""

    api: Api
    request: web.Request
    route: Route
    token: ApiToken
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: JsonObject = field(default_factory=dict[str, Json])
    headers: dict[str, str] = field(default_factory=dict[str, str])
    """Headers that the response carries, whatever becomes of the request."""

    def text(self, name: str) -> str | None:
        value = self.body.get(name)
        return None if value is None else str(value)

    def flag(self, name: str) -> bool:
        return self.query.get(name) == "1"

    def accepts(self, media: str) -> bool:
        """Whether the caller names this media type, and doesn't name it as unwanted."""
        for item in self.request.headers.get("Accept", "").lower().split(","):
            kind, *parameters = [part.strip() for part in item.split(";")]
            if kind == media and "q=0" not in parameters:
                return True
        return False


def endpoint(api: Api, route: Route) -> typedefs.Handler:
    """The route as aiohttp serves it, also inside somebody else's application: nothing that goes
    wrong leaves it but as a problem."""

    async def serve(request: web.Request) -> web.StreamResponse:
        headers: dict[str, str] = {}
        try:
            response = await _serve(api, route, request, headers)
        except GatewayError as error:
            if error.status == 500:
                response = _our_fault(error, route.name, headers)
            else:
                response = problem(error, headers)
        except web.HTTPException:
            raise
        except Exception as error:  # noqa: BLE001 - the last stop: it is logged whole
            response = unforeseen(error, route.name, headers)
        api.metrics.request(route.name, request.method, response.status)
        return response

    return serve


def _our_fault(error: GatewayError, where: str, headers: Mapping[str, str]) -> web.Response:
    """A 500 that has a code of its own speaks for itself; the log has what caused it."""
    if error.code == GatewayError.code:
        return unforeseen(error, where, headers)
    unforeseen(error, where, headers)
    return problem(error, headers)


async def _serve(
    api: Api, route: Route, request: web.Request, headers: dict[str, str]
) -> web.StreamResponse:
    token = ANONYMOUS
    if not route.open:
        token = authenticate(request, api.tokens)
        if route.right is not None:
            require(token, route.right)
    call = Call(
        api=api,
        request=request,
        route=route,
        token=token,
        path=_path(request),
        query=_query(route, request),
        headers=headers,
    )
    if route.body is not None:
        call.body = await _body(route, route.body, request, api.body_bytes)
    return await route.handler(call)


def _path(request: web.Request) -> dict[str, str]:
    """The path's parts. Nothing is called what can't be printed, and no store need be asked."""
    found = dict(request.match_info)
    for name, value in found.items():
        if not value.isprintable() and name not in {"session", "history"}:
            raise NotFoundError(f"no such {name}")
    return found


def _query(route: Route, request: web.Request) -> dict[str, str]:
    found: dict[str, str] = {}
    for query in route.query:
        values = request.query.getall(query.name, [])
        if not values:
            continue
        if len(values) > 1:
            raise BadRequestError(f"{query.name} is given twice", fix=f"send one {query.name}")
        value: Json = values[0]
        if query.schema.get("type") == "integer" and _WHOLE.fullmatch(values[0]):
            value = int(values[0])
        if wrong := check_value(query.schema, value):
            raise BadRequestError(f"?{query.name} {wrong}", fix=_instead(query))
        found[query.name] = values[0]
    return found


def _instead(query: Query) -> str:
    """How the parameter is written so that it is understood."""
    match query.schema:
        case {"enum": list(values)}:
            return " or ".join(f"?{query.name}={value}" for value in values)
        case _:
            return f"{query.name}: {query.about}"


async def _body(route: Route, schema: JsonObject, request: web.Request, limit: int) -> JsonObject:
    if route.body_optional and not request.body_exists:
        return {}
    raw = await read_body(request, limit, BODY_SECONDS)
    if route.body_optional and not raw:
        return {}
    if request.content_type != JSON:
        raise MediaTypeError(
            f"the header Content-Type must be {JSON}", fix=f"send Content-Type: {JSON}"
        )
    value = _parse(raw)
    if wrong := check_value(schema, value):
        raise BadRequestError(
            f"the body can't be used: {wrong}", fix="see GET /openapi.json for what it may hold"
        )
    return cast("JsonObject", value)


async def read_body(request: web.Request, limit: int, seconds: float) -> bytes:
    """The whole body, if it is small enough and comes in time: counted as it comes, since a length can
    lie and a compressed body can grow."""
    too_large = TooLargeError(f"the body is over {limit} bytes", fix="send less")
    if request.content_length is not None and request.content_length > limit:
        raise too_large
    raw = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.content.iter_any():
                raw += chunk
                if len(raw) > limit:
                    raise too_large
    except TimeoutError as error:
        raise SlowRequestError("the body took too long to arrive", fix="send it again") from error
    except (web.RequestPayloadError, ConnectionError) as error:
        raise BadRequestError("the body is broken", fix="send it again") from error
    return bytes(raw)


def _parse(raw: bytes) -> Json:
    """JSON as the standard has it: no NaN, no lone surrogates, no NUL, no bottomless nesting."""
    try:
        value = cast("Json", json.loads(raw.decode("utf-8"), parse_constant=_no_constant))
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise BadRequestError("the body isn't JSON", fix="send UTF-8 encoded JSON") from error
    return value


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} isn't JSON")
