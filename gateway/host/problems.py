"""Errors on the wire: ``application/problem+json`` (RFC 9457) with a stable code and the way out.

::

    {
        "type": "urn:june:problem:not_found",
        "title": "Not Found",
        "status": 404,
        "code": "not_found",
        "detail": "no agent 'x'",
        "fix": "agents here: june",
    }

Nothing of an unforeseen exception leaves the process but an id, under which the log has the rest.
"""

from __future__ import annotations

import http
import json
import logging
import secrets
from collections.abc import Mapping

from aiohttp import web

from gateway.engine.errors import (
    AlreadyAnsweredError,
    BusyError,
    GatewayError,
    ModelUnavailableError,
    RequestError,
    StoreUnavailableError,
)
from gateway.engine.kinds import Json, JsonObject

log = logging.getLogger("gateway.host")
PROBLEM = "application/problem+json"


class BadRequestError(RequestError):
    """The request itself can't be understood: its body, a parameter, a key."""

    status = 400
    code = "bad_request"


class MethodError(RequestError):
    status = 405
    code = "method_not_allowed"


class MediaTypeError(RequestError):
    status = 415
    code = "unsupported_media_type"


class SlowRequestError(RequestError):
    status = 408
    code = "request_timeout"


class CursorAheadError(RequestError):
    """A cursor beyond the end of the log: it is of another turn, or of another store."""

    status = 409
    code = "cursor_ahead"


def title(status: int) -> str:
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return "Error"


def problem(error: GatewayError, headers: Mapping[str, str] | None = None) -> web.Response:
    """The response an error makes."""
    body: JsonObject = {
        "type": f"urn:june:problem:{error.code}",
        "title": title(error.status),
        "status": error.status,
        "code": error.code,
        "detail": str(error),
    }
    if error.fix:
        body["fix"] = error.fix
    if isinstance(error, AlreadyAnsweredError):
        body |= {"by": error.by, "outcome": error.outcome, "at": error.at}
    own: dict[str, str] = {}
    if error.status == 401:
        own["WWW-Authenticate"] = 'Bearer realm="gateway"'
    if isinstance(error, BusyError | StoreUnavailableError | ModelUnavailableError):
        own["Retry-After"] = "1"
    return json_response(body, error.status, {**own, **(headers or {})}, PROBLEM)


def unforeseen(error: Exception, where: str, headers: Mapping[str, str]) -> web.Response:
    return problem(our_fault(error, where), headers)


def our_fault(error: Exception, where: str) -> GatewayError:
    """What to tell of a fault of ours: the log has it whole, the caller gets its id."""
    error_id = f"E-{secrets.token_hex(4)}"
    log.error("%s failed", where, exc_info=error, extra={"error_id": error_id})
    return GatewayError(
        "the gateway failed to handle this request", fix=f"look for {error_id} in its log"
    )


def json_response(
    body: Json,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    content_type: str = "application/json",
) -> web.Response:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return web.Response(
        body=text.encode("utf-8", "replace"),
        status=status,
        headers={
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            **(headers or {}),
        },
        content_type=content_type,
        charset="utf-8" if content_type == "application/json" else None,
    )
