"""Where the web server meets a channel: one request becomes one ``HookRequest``, one ``HookReply``
becomes one response.

The body is read raw, since signatures are made over bytes, and no longer than its route takes. What
goes wrong here is told to a stranger: a status, and no text of ours.
"""

from __future__ import annotations

import logging
import secrets
import traceback

from aiohttp import web

from channels.contract import HookReply, HookRequest, Route
from gateway.engine.errors import GatewayError, NotFoundError, StoreUnavailableError
from gateway.engine.steps.foreign import contained
from gateway.host.api import Api
from gateway.host.problems import BadRequestError, MethodError, problem
from gateway.host.table import read_body

log = logging.getLogger("gateway.host")

_LISTED = frozenset({"forwarded", "via"})
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


async def serve(api: Api, request: web.Request, channel: str, path: str) -> web.StreamResponse:
    """``path`` is what continues ``/channels/<channel>``. Raises the problems of a request that
    reaches no handler."""
    methods = api.registry.hook(channel, path)
    if methods is None:
        raise NotFoundError("no webhook is here")
    route = methods.get("GET" if request.method == "HEAD" else request.method)
    if route is None:
        wrong = MethodError("this webhook takes another method", fix="see the Allow header")
        return problem(wrong, {"Allow": ", ".join(sorted(methods))})
    asked = HookRequest(
        method=request.method,
        path=path,
        query={name: tuple(request.query.getall(name)) for name in request.query},
        headers=_headers(request),
        body=await read_body(request, route.body_limit, api.hook_patience),
        at=api.runtime.clock.now(),
    )
    response = await _answer(route, asked, channel)
    api.metrics.hook(channel, response.status)
    return response


async def _answer(route: Route, asked: HookRequest, channel: str) -> web.Response:
    try:
        with contained:
            return _response(await route.handler(asked))
    except StoreUnavailableError:
        log.warning("a webhook of %s couldn't be kept: the store is away", channel)
        return problem(StoreUnavailableError("this can't be kept now", fix="send it again"))
    except Exception as error:  # noqa: BLE001 - the last stop before a stranger
        return _fault(error, channel)


def _headers(request: web.Request) -> dict[str, str]:
    """Each header once. Of two, a proxy and we might believe a different one; but what proxies add
    on the way, each a line of its own, is one list."""
    found: dict[str, str] = {}
    for name, value in request.headers.items():
        lower = name.lower()
        if lower not in found:
            found[lower] = value
        elif lower in _LISTED or lower.startswith("x-forwarded-"):
            found[lower] += f", {value}"
        else:
            raise BadRequestError(f"the header {lower} is given twice", fix="send it once")
    return found


def _response(reply: HookReply) -> web.Response:
    return web.Response(status=reply.status, body=reply.body, headers={**_HEADERS, **reply.headers})


def _fault(error: Exception, channel: str) -> web.Response:
    """A fault of ours. What the exception says may hold what somebody wrote: the log has its class
    and its place."""
    error_id = f"E-{secrets.token_hex(4)}"
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "nowhere"
    log.error(
        "a webhook of %s failed with %s at %s",
        channel,
        type(error).__name__,
        place,
        extra={"error_id": error_id},
    )
    told = GatewayError(
        "the gateway failed to handle this request", fix=f"look for {error_id} in its log"
    )
    return problem(told)
