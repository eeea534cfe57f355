"""The pages of signing in and out, and of setting up what one signs in with.

A link that was printed or sent is only shown by a GET: scanners and previews open links. Its button
uses it up.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.engine.errors import ConfigError, GatewayError
from gateway.host.auth import ForbiddenError, elsewhere
from gateway.host.console.access import factor
from gateway.host.console.access.access import ACCESS, Access, Attempt
from gateway.host.console.access.guard import (
    BEFORE,
    SESSION,
    SIGN_IN,
    check_csrf,
    check_form,
    cookie,
    drop_cookie,
    form_word,
    set_cookie,
    visitor_of,
)
from gateway.host.console.access.links import Link
from gateway.host.console.access.origin import HOME, address_of, check_own_page, safe_next
from gateway.host.console.access.roster import add_roster
from gateway.host.console.access.sessions import Held
from gateway.host.console.access.tokens import new_token, same
from gateway.host.console.access.tries import LockedError
from gateway.host.pages.forms import read_form
from gateway.host.pages.render import page, see_other
from gateway.host.pages.shelf import add_room
from gateway.host.problems import BadRequestError, our_fault, title
from gateway.host.words.text import one_line
from gateway.values import ApiToken

log = logging.getLogger("gateway.console")

FORM_BYTES = 16_384
SET_UP = f"{HOME}/set-up"
WRONG = "That didn't match. Check the name, the password and the code, and try again."
_AGAIN = f"begin again at {SIGN_IN}"
USED = "This link was used already, or its time is over."

add_room("access", Path(__file__).parent)


def add_access(app: web.Application, access: Access, tokens: Sequence[ApiToken]) -> None:
    """Serve the sign-in. What else is below ``/console`` asks ``guard.require``."""
    app[ACCESS] = access
    add = app.router.add_route
    add("GET", SIGN_IN, as_page(sign_in))
    add("POST", SIGN_IN, as_page(by_password))
    add("POST", f"{SIGN_IN}/link", as_page(by_link))
    add("GET", f"{SIGN_IN}/begin", as_page(begin))
    add("GET", f"{SIGN_IN}/back", as_page(come_back))
    add("GET", SET_UP, as_page(set_up))
    add("POST", SET_UP, as_page(finish_set_up))
    add("POST", f"{HOME}/sign-out", as_page(sign_out))
    add_roster(app, tokens)


def as_page(handler: Handler) -> Handler:
    """What goes wrong is a page, too, and says what to do."""

    async def served(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except web.HTTPException:
            raise
        except Exception as error:  # noqa: BLE001 - the last stop: it is logged whole
            if isinstance(error, GatewayError) and error.code != GatewayError.code:
                return _problem(request, error)
            return _problem(request, our_fault(error, "the sign-in"))

    return served


def _problem(request: web.Request, error: GatewayError) -> web.Response:
    response = page(
        request,
        "access/problem.html",
        status=error.status,
        heading=title(error.status),
        detail=str(error),
        fix=error.fix,
    )
    if isinstance(error, LockedError):
        response.headers["Retry-After"] = str(-(-error.wait // 1000))
    return response


# -- signing in ------------------------------------------------------------------------------------
async def sign_in(request: web.Request) -> web.StreamResponse:
    access = request.app[ACCESS]
    _only_here(request, access)
    onward = safe_next(request.query.get("next"))
    if await visitor_of(request) is not None:
        return see_other(onward)
    if (off := await access.off()) is not None:
        return page(request, "access/off.html", status=503, keyless=off == "no key")
    once = request.query.get("once", "")
    if once and access.local and await access.links.look(once, "sign-in") is None:
        return _entrance(request, onward, wrong=USED, status=403)
    return _entrance(request, onward, once=once)


def _entrance(
    request: web.Request,
    onward: str,
    *,
    once: str = "",
    name: str = "",
    wrong: str = "",
    status: int = 200,
) -> web.Response:
    access = request.app[ACCESS]
    before = cookie(request, access, BEFORE) or new_token()
    response = page(
        request,
        f"access/by_{access.way}.html",
        status=status,
        onward=onward,
        once=once,
        name=name,
        wrong=wrong,
        csrf=form_word(before),
        provider="" if access.provider is None else access.provider.host,
    )
    set_cookie(response, access, BEFORE, before)
    return response


async def by_link(request: web.Request) -> web.StreamResponse:
    access = request.app[ACCESS]
    _only_here(request, access)
    form = await read_form(request, FORM_BYTES)
    check_form(request, form, BEFORE)
    onward = safe_next(form.get("next"))
    held = await access.by_link(form.get("once", ""), address_of(request, access.proxies))
    if held is None:
        return _entrance(request, onward, wrong=USED, status=403)
    return await _enter(request, held, onward)


async def by_password(request: web.Request) -> web.StreamResponse:
    access = request.app[ACCESS]
    if (off := await access.off()) is not None:
        return page(request, "access/off.html", status=503, keyless=off == "no key")
    form = await read_form(request, FORM_BYTES)
    check_form(request, form, BEFORE)
    onward, name = safe_next(form.get("next")), form.get("name", "").strip().lower()
    if access.way != "password":
        raise ForbiddenError("nobody signs in by password here", fix=f"open {SIGN_IN}")
    held = await access.by_password(
        name, form.get("password", ""), form.get("code", ""), address_of(request, access.proxies)
    )
    if held is None:
        return _entrance(request, onward, name=name, wrong=WRONG, status=403)
    return await _enter(request, held, onward)


async def begin(request: web.Request) -> web.StreamResponse:
    """Send the browser to the provider. By GET: a form's policy would follow it there and stop it."""
    access = request.app[ACCESS]
    if access.provider is None:
        raise ForbiddenError("nobody signs in through a provider here", fix=f"open {SIGN_IN}")
    token = new_token()
    attempt, onward = Attempt(token), safe_next(request.query.get("next"))
    response = see_other(
        await access.provider.begin(
            access.back,
            state=attempt.state(onward),
            nonce=attempt.nonce,
            verifier=attempt.verifier,
        )
    )
    set_cookie(response, access, BEFORE, token)
    return response


async def come_back(request: web.Request) -> web.StreamResponse:
    access, query = request.app[ACCESS], request.query
    attempt = Attempt(cookie(request, access, BEFORE))
    onward = safe_next(query.get("state", "").partition(".")[2])
    known = attempt.token and same(query.get("state", ""), attempt.state(onward))
    if not known or query.get("iss", _issuer(access)) != _issuer(access):
        raise ForbiddenError("this is not the sign-in that this browser began", fix=_AGAIN)
    if "code" not in query:
        refused = one_line(query.get("error", "it doesn't say why"), 80)
        raise ForbiddenError(f"the provider didn't sign you in: {refused}", fix=_AGAIN)
    address = address_of(request, access.proxies)
    held = await access.by_provider(query["code"], attempt, address)
    return await _enter(request, held, onward)


def _issuer(access: Access) -> str:
    return "" if access.provider is None else access.provider.issuer


async def _enter(request: web.Request, held: Held, onward: str) -> web.Response:
    response = see_other(onward)
    await start_session(request, response, held)
    return response


async def start_session(request: web.Request, response: web.Response, held: Held) -> None:
    """A session of its own: one that the browser brought along, whoever put it there, ends."""
    access = request.app[ACCESS]
    if old := cookie(request, access, SESSION):
        await access.sessions.end(old)
    set_cookie(response, access, SESSION, await access.sessions.begin(held))
    drop_cookie(response, access, BEFORE)


async def sign_out(request: web.Request) -> web.StreamResponse:
    access = request.app[ACCESS]
    # Browsers leave the cookie out of another site's form, and would still obey an answer that drops it.
    check_own_page(request, access.public_url)
    visitor = await visitor_of(request)
    if visitor is not None:
        check_csrf(request, await read_form(request, FORM_BYTES))
        await access.sessions.end(cookie(request, access, SESSION))
        log.info("%s signed out", visitor.user)
    response = see_other(SIGN_IN)
    drop_cookie(response, access, SESSION)
    return response


# -- setting up ------------------------------------------------------------------------------------
async def set_up(request: web.Request) -> web.StreamResponse:
    access = request.app[ACCESS]
    once = request.query.get("once", "")
    link = await _invitation(access, once)
    return await _set_up_page(request, once, link, factor.new_secret())


async def finish_set_up(request: web.Request) -> web.StreamResponse:
    """All is checked before the link is used up, so that a slip of the pen costs nothing."""
    access = request.app[ACCESS]
    form = await read_form(request, FORM_BYTES)
    check_form(request, form, BEFORE)
    once, password = form.get("once", ""), form.get("password", "")
    link = await _invitation(access, once)
    secret = _opened(access, link, form.get("secret", ""))
    if wrong := factor.password_problem(password, link.user):
        return await _set_up_page(request, once, link, secret, wrong=("password", wrong))
    if password != form.get("again", ""):
        return await _set_up_page(
            request, once, link, secret, wrong=("again", "The two passwords differ.")
        )
    code = form.get("code", "").replace(" ", "")
    step = factor.step_of(secret, code, access.clock.now())
    if step is None:
        told = "The code doesn't fit. Is the phone's clock right? Take the one it shows now."
        return await _set_up_page(request, once, link, secret, wrong=("code", told))
    codes = None
    if await access.links.use(once, "set-up") is not None:
        codes = await access.set_up(link, password, secret, step)
    if codes is None:
        raise _void()
    response = page(request, "access/codes.html", name=link.user, codes=codes)
    # Of the link's epoch: whoever is reset at this moment isn't in.
    held = access.entered(
        Held(link.user, "password", link.epoch), address_of(request, access.proxies)
    )
    await start_session(request, response, held)
    return response


async def _set_up_page(
    request: web.Request, once: str, link: Link, secret: str, *, wrong: tuple[str, str] = ("", "")
) -> web.Response:
    access = request.app[ACCESS]
    before = cookie(request, access, BEFORE) or new_token()
    sealed = access.sealing().seal(secret.encode("ascii"), _being_set_up(link)).hex()
    uri = factor.enrolment(secret, link.user)
    response = page(
        request,
        "access/set_up.html",
        status=422 if wrong[0] else 200,
        name=link.user,
        once=once,
        sealed=sealed,
        secret=secret,
        address=uri,
        picture=await asyncio.to_thread(factor.picture, uri),
        shortest=factor.SHORTEST,
        wrong=wrong,
        csrf=form_word(before),
    )
    set_cookie(response, access, BEFORE, before)
    return response


async def _invitation(access: Access, once: str) -> Link:
    """Raises ``ForbiddenError`` for a link that invites nobody any more."""
    link = await access.links.look(once, "set-up")
    person = None if link is None else await access.people.find(link.user)
    if link is None or person is None or person.epoch != link.epoch or person.state != "invited":
        raise _void()
    access.sealing()
    return link


def _void() -> ForbiddenError:
    return ForbiddenError(
        "this link was used already, or its time is over",
        fix="ask an admin for a new one: gateway users reset NAME",
    )


def _opened(access: Access, link: Link, sealed: str) -> str:
    """The second factor that this page was made with; it was kept nowhere else."""
    try:
        return access.sealing().open(bytes.fromhex(sealed), _being_set_up(link)).decode("ascii")
    except (ValueError, ConfigError) as error:
        raise BadRequestError("the form can't be read", fix="open the link again") from error


def _being_set_up(link: Link) -> str:
    return f"the second factor that console user {link.user} sets up ({link.epoch})"


# -- beneath ---------------------------------------------------------------------------------------
def _only_here(request: web.Request, access: Access) -> None:
    if access.local and (why := elsewhere(request)) is not None:
        raise ForbiddenError(
            f"the pages of `gateway dev` are for this machine alone: {why}",
            fix="open the link that it printed, on the machine where it runs",
        )
