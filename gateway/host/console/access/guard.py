"""Who a request comes from, and whether they may: what every page of the console asks first."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from aiohttp import web

from gateway.host.auth import ForbiddenError, NotAuthenticatedError, elsewhere
from gateway.host.console.access.access import ACCESS, Access
from gateway.host.console.access.origin import HOME, check_own_page
from gateway.host.console.access.people import LOCAL_USER
from gateway.host.console.access.sessions import LIFE, Held
from gateway.host.console.access.tokens import derived, is_token, same
from gateway.host.console.access.visitor import Role, Visitor

SIGN_IN = f"{HOME}/sign-in"
SESSION, BEFORE = "june_console", "june_console_before"
"""The cookie of somebody who is signed in, and that of somebody who isn't yet: it ties the forms of
the sign-in to the browser that asked for them."""
_CSRF = "forms of this session"


async def visitor_of(request: web.Request) -> Visitor | None:
    """Who is signed in; ``None`` also where there is no console."""
    access, token = request.app.get(ACCESS), ""
    if access is not None:
        token = cookie(request, access, SESSION)
    if access is None or not token or (access.local and elsewhere(request) is not None):
        return None
    held = await access.sessions.find(token)
    role = None if held is None else await _role(access, held)
    if held is None or role is None:
        return None
    return Visitor(user=held.user, role=role, csrf=derived(token, _CSRF))


async def _role(access: Access, held: Held) -> Role | None:
    """What a session's user may today: what was true when it began doesn't count."""
    if held.way != access.way:
        return None
    if held.way == "link":
        return "admin" if held.user == LOCAL_USER else None
    person = await access.people.find(held.user)
    if person is None or person.disabled or person.epoch != held.epoch:
        return None
    return person.role


async def require(request: web.Request, role: Role) -> Visitor:
    """The visitor, who may do what ``role`` may.

    Nobody is signed in: raises a redirect to the sign-in, and ``NotAuthenticatedError`` where a
    program asks (``.json``, an event stream). Somebody who may not: ``ForbiddenError``.
    """
    visitor = await visitor_of(request)
    if visitor is None:
        accepts = request.headers.get("Accept", "")
        if request.path.endswith(".json") or "text/event-stream" in accepts:
            raise NotAuthenticatedError("nobody is signed in", fix=f"open {SIGN_IN} in a browser")
        back = f"?next={quote(request.path_qs, safe='/')}" if request.method == "GET" else ""
        raise web.HTTPSeeOther(f"{SIGN_IN}{back}", headers={"Cache-Control": "no-store"})
    if not visitor.may(role):
        raise ForbiddenError(
            f"{visitor.user} is {_a(visitor.role)}, and this takes {_a(role)}",
            fix=f"ask an admin: gateway users role {visitor.user} {role}",
        )
    return visitor


def check_csrf(request: web.Request, form: Mapping[str, str]) -> None:
    """Raises ``ForbiddenError`` unless the form came from a page of this session, sent by our own
    page. Ask it of every request that changes something, after ``require``."""
    check_form(request, form, SESSION)


def check_form(request: web.Request, form: Mapping[str, str], name: str) -> None:
    """The same for the forms of either cookie."""
    access = request.app[ACCESS]
    check_own_page(request, access.public_url)
    token = cookie(request, access, name)
    if not token:
        raise ForbiddenError(
            "the browser sent no cookie with this form",
            fix=f"allow cookies, and open {access.public_url or ''}{SIGN_IN} again",
        )
    if not same(form.get("csrf", ""), derived(token, _CSRF)):
        raise ForbiddenError(
            "this form is of an earlier session, or of somebody else's",
            fix="load the page again, and send the form anew",
        )


def form_word(token: str) -> str:
    """What the forms that belong to a cookie carry as ``csrf``."""
    return derived(token, _CSRF)


# -- cookies ---------------------------------------------------------------------------------------
def cookie(request: web.Request, access: Access, name: str) -> str:
    """The token in one of our cookies; empty for none, for what isn't a token, and for two that differ.

    Read from the header itself: a parser that forgives takes a name behind an odd space for the name,
    and then a neighbouring domain could plant what the prefix is there to keep out.
    """
    called = _called(access, name)
    parts = (part for line in request.headers.getall("Cookie", ()) for part in line.split(";"))
    pairs = (part.strip(" \t").partition("=") for part in parts)
    held = {value for key, _, value in pairs if key == called}
    token = held.pop() if len(held) == 1 else ""
    return token if is_token(token) else ""


def set_cookie(response: web.StreamResponse, access: Access, name: str, token: str) -> None:
    response.set_cookie(
        _called(access, name),
        token,
        path="/",
        httponly=True,
        secure=access.secure,
        samesite="Lax",
        max_age=LIFE // 1000 if name == SESSION else None,
    )


def drop_cookie(response: web.StreamResponse, access: Access, name: str) -> None:
    response.del_cookie(
        _called(access, name), path="/", httponly=True, secure=access.secure, samesite="Lax"
    )


def _called(access: Access, name: str) -> str:
    """Over TLS a prefix makes browsers refuse it from anywhere else, and for anything else."""
    return f"__Host-{name}" if access.secure else name


def _a(role: Role) -> str:
    return f"a {role}" if role == "viewer" else f"an {role}"
