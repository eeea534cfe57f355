"""Who calls: a bearer token with rights, or this machine when there is no token.

Without tokens (embedding, tests) only the machine itself may call, and nothing that a browser or a
proxy could be made to send from elsewhere counts as that: peer and ``Host`` must be loopback, no
forwarding header may be there, ``Origin`` must be absent or our own, and what changes something must
come as JSON, which a foreign page can't send without asking first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

from aiohttp import web

from gateway.engine.errors import RequestError
from gateway.engine.kinds import Speaker
from gateway.host.problems import MediaTypeError
from gateway.values import ApiToken, Right, Secret, is_loopback

LOCAL = ApiToken("local", Secret(""))
"""The caller on a host without tokens."""

ANONYMOUS = ApiToken("anonymous", Secret(""), frozenset(), ())
"""Whoever calls an open route: nobody looked, so nothing is theirs to do."""

_FORWARDED = frozenset({"forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip"})


class NotAuthenticatedError(RequestError):
    status = 401
    code = "unauthenticated"


class ForbiddenError(RequestError):
    status = 403
    code = "forbidden"


def authenticate(request: web.BaseRequest, tokens: Sequence[ApiToken]) -> ApiToken:
    """Who calls. Raises ``NotAuthenticatedError``."""
    if not tokens:
        if problem := _not_local(request):
            raise NotAuthenticatedError(
                f"without a token only this machine may call: {problem}",
                fix="give mount_agent tokens=…, and send one as Authorization: Bearer <token>",
            )
        if request.method not in {"GET", "HEAD", "OPTIONS"} and request.content_type != JSON:
            # A foreign page may send anything else without asking first.
            raise MediaTypeError(
                f"the header Content-Type must be {JSON}, also where the body is empty",
                fix=f"send Content-Type: {JSON}",
            )
        return LOCAL
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    found: ApiToken | None = None
    for token in tokens:  # all of them, so that time tells nothing about which one is near
        if token.secret.matches(given.strip()) and scheme.lower() == "bearer":
            found = token
    if found is None:
        raise NotAuthenticatedError(
            "a valid token is missing", fix="send Authorization: Bearer <token>"
        )
    return found


def _not_local(request: web.BaseRequest) -> str | None:
    if (why := elsewhere(request)) is not None:
        return why
    origin = request.headers.get("Origin")
    if origin is not None and origin.lower() != f"http://{request.headers['Host']}".lower():
        return "another site's page sent it"
    return None


def elsewhere(request: web.BaseRequest) -> str | None:
    """Why a request isn't this machine's own, if it isn't; which page sent it is another question."""
    peer: object = (
        None if request.transport is None else request.transport.get_extra_info("peername")
    )
    if not isinstance(peer, tuple) or not is_loopback(str(cast("tuple[object, ...]", peer)[0])):
        return "the peer isn't on loopback"
    if not is_loopback(host_of(request.headers.get("Host", ""))):
        return "the Host header isn't loopback"
    for name in request.headers:
        if name.lower() in _FORWARDED or name.lower().startswith("x-forwarded-"):
            return f"it came through a proxy ({name})"
    return None


JSON = "application/json"


def host_of(header: str) -> str:
    """The name in a ``Host`` header, without its port."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def require(token: ApiToken, right: Right) -> None:
    if not token.may(right):
        raise ForbiddenError(
            f"token {token.name!r} hasn't the right {right!r}",
            fix=f'add "{right}" to rights of [tokens.{token.name}] in gateway.toml',
        )


@dataclass(frozen=True, slots=True)
class Decider:
    """Who answers a request: the token itself, or somebody its holder vouches for.

    ``via`` is the token that vouches for ``by``, when nothing else does.
    """

    by: str
    principal: Speaker
    via: str | None = None


def decider(token: ApiToken, by: str | None) -> Decider:
    """Raises ``ForbiddenError`` for an identity that the token may not assert."""
    own = f"api:{token.name}"
    if by is None or by == own:
        return Decider(own, Speaker(id=own, name=token.name, level="provider"))
    vouch(token, by)
    person = Speaker(id=by, level="provider")
    if token.proves:
        return Decider(by, person)
    return Decider(by, person, via=own)


def vouch(token: ApiToken, identity: str) -> None:
    # What a token is called is proven by the token alone, whatever another may vouch for.
    if identity.startswith("api:") or not token.vouches_for(identity):
        raise ForbiddenError(
            f"token {token.name!r} may not speak for {identity!r}",
            fix=f"add its prefix to identities of [tokens.{token.name}] in gateway.toml",
        )
