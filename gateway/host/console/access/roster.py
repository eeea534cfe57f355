"""Users as ``gateway users`` manages them, on the store itself or through the host that holds it.

Over HTTP only the CLI's own token does: it proves that its holder could as well open the store. Any
other token speaks *for* people; it must not be able to become one.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import cast

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.engine.errors import GatewayError, NotFoundError
from gateway.engine.kinds import Json, JsonObject
from gateway.host.auth import JSON, ForbiddenError, authenticate
from gateway.host.console.access.access import ACCESS, Access
from gateway.host.console.access.links import Link
from gateway.host.console.access.origin import HOME
from gateway.host.console.access.people import (
    Person,
    check_name,
    person_json,
    switched,
    with_role,
    without_proof,
)
from gateway.host.console.access.visitor import ROLES, Role, role_from
from gateway.host.problems import BadRequestError, json_response, problem
from gateway.host.table import BODY_SECONDS, read_body
from gateway.values import ApiToken

log = logging.getLogger("gateway.console")

ROSTER = f"{HOME}/users"
NEW_LINK = f"{HOME}/sign-in/new-link"
"""Makes another link into the pages of ``gateway dev``: those before it run out or were used."""
BODY_BYTES = 4096


async def listed(access: Access) -> list[JsonObject]:
    return [person_json(person) for person in await access.people.all()]


async def changed(access: Access, name: str, do: str, role: str | None) -> JsonObject:
    """The user as it is then; ``link`` is a path that invites them, where they have to set up."""
    people = access.people
    person: Person | None
    match do:
        case "add":
            access.sealing()
            check_name(name)
            person = await people.add(name, _role(role))
        case "role":
            person = await people.change(name, with_role(_role(role)))
        case "disable" | "enable":
            person = await people.change(name, switched(off=do == "disable"))
        case "reset":
            access.sealing()
            person = await people.change(name, without_proof)
            await access.tries.forgive(name)
        case _:
            raise BadRequestError(f"{do!r} can't be done to a user")
    if person is None:
        raise NotFoundError(f"there is no user {name!r}", fix="gateway users list")
    log.info("user %s: %s; now %s, %s", name, do, person.role, person.state)
    return {**person_json(person), "link": await _invitation(access, person, do)}


async def _invitation(access: Access, person: Person, do: str) -> str | None:
    if do not in {"add", "reset"} or person.state != "invited":
        return None
    once = await access.links.make("set-up", Link(person.name, person.epoch))
    return f"{HOME}/set-up?once={once}"


def _role(text: str | None) -> Role:
    if (role := role_from(text)) is None:
        raise BadRequestError(f"{text!r} is no role", fix=f"name one of {', '.join(ROLES)}")
    return role


# -- over HTTP -------------------------------------------------------------------------------------
def add_roster(app: web.Application, tokens: Sequence[ApiToken]) -> None:
    """For the CLI of this machine, and for nobody else: it stands in no document."""

    async def all_of_them(request: web.Request) -> JsonObject:
        rows: list[Json] = [*await listed(request.app[ACCESS])]
        return {"users": rows}

    async def change(request: web.Request) -> JsonObject:
        body = await _body(request)
        role = body.get("role")
        return await changed(
            request.app[ACCESS],
            request.match_info["user"],
            str(body.get("do")),
            role if isinstance(role, str) else None,
        )

    async def link(request: web.Request) -> JsonObject:
        access = request.app[ACCESS]
        if not access.local:
            raise ForbiddenError(
                "this host isn't `gateway dev`: people sign in here under their own names",
                fix="gateway users add NAME --role admin",
            )
        return {"link": await access.local_link("")}

    def answering(
        work: Callable[[web.Request], Awaitable[JsonObject]],
    ) -> Handler:
        async def answer(request: web.Request) -> web.StreamResponse:
            try:
                if not authenticate(request, tokens).proves:
                    raise ForbiddenError(
                        "users are managed on the machine of the host, by who runs it",
                        fix="gateway users",
                    )
                return json_response(await work(request))
            except GatewayError as error:
                return problem(error)

        return answer

    app.router.add_get(ROSTER, answering(all_of_them), allow_head=False)
    app.router.add_post(f"{ROSTER}/{{user}}", answering(change))
    app.router.add_post(NEW_LINK, answering(link))


async def _body(request: web.Request) -> Mapping[str, Json]:
    raw = await read_body(request, BODY_BYTES, BODY_SECONDS)
    try:
        found: object = json.loads(raw) if request.content_type == JSON else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BadRequestError(
            "the body must be a JSON object", fix='{"do": "add", "role": "admin"}'
        )
    return cast("JsonObject", found)
