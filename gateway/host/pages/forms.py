"""What a page's form sends."""

from __future__ import annotations

from urllib.parse import parse_qsl

from aiohttp import web

from gateway.host.problems import BadRequestError, MediaTypeError
from gateway.host.table import BODY_SECONDS, read_body

FORM = "application/x-www-form-urlencoded"
FORM_BYTES = 262_144
FIELDS = 50


async def read_form(request: web.Request, limit: int = FORM_BYTES) -> dict[str, str]:
    """The fields of a form, each once. Raises what a malformed one deserves."""
    fields = await read_fields(request, limit)
    form = dict(fields)
    if len(form) < len(fields):
        raise _broken()
    return form


async def read_fields(request: web.Request, limit: int = FORM_BYTES) -> list[tuple[str, str]]:
    """The same where a name may come more than once, in the order they were sent."""
    if request.content_type != FORM:
        raise MediaTypeError("this takes a form", fix="use the button on the page")
    raw = await read_body(request, limit, BODY_SECONDS)
    try:
        fields = parse_qsl(
            raw.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=FIELDS
        )
    except ValueError as error:
        raise _broken() from error
    if any("\0" in f"{name}{value}" for name, value in fields):
        raise _broken()
    return fields


def _broken() -> BadRequestError:
    return BadRequestError("the form is broken", fix="load the page again, and send it anew")
