"""Only for this machine, and only for forms of our own pages."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from aiohttp import web
from aiohttp.typedefs import Handler

from channels.slack.emulator import Impossible
from gateway.engine.errors import RequestError
from gateway.host.auth import ForbiddenError, elsewhere
from gateway.host.console.access.origin import check_own_page
from gateway.host.pages.forms import read_fields
from gateway.host.problems import problem

__all__ = ["Form", "first", "guarded", "read", "tried"]

Form: TypeAlias = Mapping[str, Sequence[str]]
P = TypeVar("P")


async def read(request: web.Request) -> Form:
    found: dict[str, list[str]] = {}
    for name, value in await read_fields(request):
        found.setdefault(name, []).append(value)
    return found


def first(form: Form, name: str) -> str:
    return form[name][0] if form.get(name) else ""


async def tried(acting: Awaitable[P | None], at: P) -> tuple[str, P]:
    """What somebody is told of their act, if it isn't possible, and where it leads."""
    try:
        led = await acting
    except Impossible as error:
        return f"{str(error)[:1].upper()}{str(error)[1:]}.", at
    if led is None:
        raise web.HTTPNotFound
    return "", led


def guarded(handler: Handler) -> Handler:
    async def serve(request: web.Request) -> web.StreamResponse:
        try:
            if (why := elsewhere(request)) is not None:
                raise ForbiddenError(
                    f"the playground is for this machine alone: {why}",
                    fix="open it by the address that gateway dev printed",
                )
            if request.method == "POST":
                check_own_page(request, None)
            return await handler(request)
        except RequestError as error:
            return problem(error)

    return serve
