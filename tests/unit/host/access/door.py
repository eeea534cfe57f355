"""The sign-in on a socket, with pages behind it that say who came in, and browsers that keep cookies."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.cookies import Morsel
from typing import cast

import aiohttp
from aiohttp import web
from pyotp.totp import TOTP

from gateway.engine.limits import Clock
from gateway.engine.ports import SessionStore
from gateway.host.console.access.access import Access
from gateway.host.console.access.factor import Passwords
from gateway.host.console.access.guard import SESSION, check_csrf, require
from gateway.host.console.access.pages import add_access, as_page
from gateway.host.console.access.roster import changed
from gateway.host.console.access.visitor import Role
from gateway.host.pages import add_static, read_form
from gateway.sealing import make_sealer
from gateway.stores import open_store
from gateway.testing.time import FakeClock
from gateway.values import ApiToken
from tests.support.http import on_socket

KEY = "k" * 40
PASSWORD = "four words will do"


@dataclass(slots=True)
class Shown:
    """What a browser got."""

    status: int
    headers: Mapping[str, str]
    text: str
    cookies: dict[str, Morsel[str]]
    """Those that were set."""

    @property
    def to(self) -> str:
        return self.headers.get("Location", "")

    @property
    def words(self) -> str:
        """Its text as a person reads it."""
        return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", self.text)).split())

    def field(self, name: str) -> str:
        found = re.search(rf'name="{name}" value="([^"]*)"', self.text)
        assert found, (name, self.text)
        return html.unescape(found[1])


@dataclass(slots=True)
class Browser:
    url: str
    http: aiohttp.ClientSession

    async def get(self, path: str, **headers: str) -> Shown:
        return await self._ask("GET", path, None, headers)

    async def post(self, path: str, form: Mapping[str, str], **headers: str) -> Shown:
        return await self._ask("POST", path, form, headers)

    async def _ask(
        self, method: str, path: str, form: Mapping[str, str] | None, headers: Mapping[str, str]
    ) -> Shown:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.http.request(
            method, self.url + path, data=form, headers=named, allow_redirects=False
        ) as response:
            text = await response.text()
            return Shown(response.status, response.headers, text, dict(response.cookies))

    @property
    def cookie(self) -> str:
        """The session's token, as the browser holds it."""
        return next((one.value for one in self.http.cookie_jar if one.key == SESSION), "")


@dataclass
class Door:
    url: str
    access: Access
    clock: FakeClock
    secrets: dict[str, str] = field(default_factory=dict[str, str])
    codes: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    @asynccontextmanager
    async def browser(self) -> AsyncGenerator[Browser, None]:
        jar = aiohttp.CookieJar(unsafe=True)
        connector = aiohttp.TCPConnector(force_close=True)
        async with aiohttp.ClientSession(cookie_jar=jar, connector=connector) as http:
            yield Browser(self.url, http)

    def code(self, name: str) -> str:
        """What the user's app shows now."""
        return TOTP(self.secrets[name]).at(self.clock.now() // 1000)

    async def invite(self, name: str, role: Role = "operator") -> str:
        """The path of the link that the CLI prints."""
        return str((await changed(self.access, name, "add", role))["link"])

    async def set_up(self, browser: Browser, link: str, name: str) -> Shown:
        """As somebody does it who makes no mistake."""
        shown = await browser.get(link)
        assert shown.status == 200, shown.words
        found = re.search(r"Key: <code>([A-Z2-7 ]+)</code>", shown.text)
        assert found, shown.text
        self.secrets[name] = found[1].replace(" ", "")
        done = await browser.post("/console/set-up", self.set_up_form(shown, name))
        self.codes[name] = re.findall(r"<li><code>([0-9a-f-]+)</code>", done.text)
        return done

    def set_up_form(self, shown: Shown, name: str, **over: str) -> dict[str, str]:
        form = {key: shown.field(key) for key in ("csrf", "once", "secret")}
        mine = {"password": PASSWORD, "again": PASSWORD, "code": self.code(name)}
        return form | mine | over

    async def user(self, name: str, role: Role = "operator") -> None:
        """Somebody who has set up, and whose next code is a new one."""
        async with self.browser() as browser:
            done = await self.set_up(browser, await self.invite(name, role), name)
            assert done.status == 200, done.words
        self.clock.tick(90)

    async def sign_in(self, browser: Browser, user: str, **over: str) -> Shown:
        shown = await browser.get("/console/sign-in")
        assert shown.status == 200, shown.words
        form = {key: shown.field(key) for key in ("csrf", "next")}
        mine = {
            "name": user,
            "password": PASSWORD,
            "code": self.code(user) if user in self.secrets else "000000",
        }
        return await browser.post("/console/sign-in", form | mine | over)


async def together(*asked: Coroutine[object, object, Shown]) -> list[int]:
    """The statuses that several get who come at the same moment."""
    async with asyncio.TaskGroup() as tasks:
        started = [tasks.create_task(one) for one in asked]
    return [task.result().status for task in started]


async def home(request: web.Request) -> web.StreamResponse:
    visitor = await require(request, "viewer")
    return web.Response(text=f"{visitor.identity} {visitor.role} {visitor.csrf}")


async def act(request: web.Request) -> web.StreamResponse:
    visitor = await require(request, cast("Role", request.match_info["role"]))
    check_csrf(request, await read_form(request))
    return web.Response(text=f"done by {visitor.identity}")


@asynccontextmanager
async def door(
    store: str = "memory://",
    *,
    local: bool = False,
    sealed: bool = True,
    public_url: str | None = None,
    proxies: tuple[str, ...] = (),
    tokens: tuple[ApiToken, ...] = (),
    passwords: Passwords | None = None,
) -> AsyncGenerator[Door, None]:
    opened: SessionStore = await asyncio.to_thread(open_store, store)
    await opened.open()
    clock = FakeClock()
    access = Access(
        ledger=opened.ledger,
        clock=Clock(now=clock.now, monotonic=clock.monotonic),
        sealer=make_sealer([KEY]) if sealed else None,
        public_url=public_url,
        proxies=proxies,
        local=local,
        passwords=passwords or Passwords(rounds=1, kibibytes=64),
    )
    app = web.Application()
    add_access(app, access, tokens)
    add_static(app)
    app.router.add_get("/console", as_page(home))
    app.router.add_get("/console/home.json", as_page(home))
    app.router.add_post("/console/act/{role}", as_page(act))
    try:
        async with on_socket(app) as url:
            yield Door(url, access, clock)
    finally:
        await opened.close()
