"""A whole host, as ``gateway dev`` and ``gateway serve`` run it: who is let in, and by what."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from gateway.config import Settings
from gateway.host import Serving, serve
from tests.unit.host.access.door import Browser

AGENT = Path(__file__).parents[4] / "agent"


@asynccontextmanager
async def host(
    state: Path, *, local: bool, **more: str
) -> AsyncGenerator[tuple[str, list[str]], None]:
    """Its URL, and the links that it told."""
    given = {"PORT": "0", "GATEWAY_MODEL": "scripted", "GATEWAY_API_TOKEN": "t" * 24, **more}
    given |= {"GATEWAY_AGENT": str(AGENT), "GATEWAY_STATE": str(state)}
    settings = await asyncio.to_thread(Settings.load, given, None)
    links: list[str] = []
    url: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = Serving(ready=url.set_result, welcome=links.append if local else None)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(serve(settings, serving))
        try:
            yield await url, links
        finally:
            serving.stop.set()
        assert await running == 0


@asynccontextmanager
async def browsing(url: str) -> AsyncGenerator[Browser, None]:
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar) as http:
        yield Browser(url, http)


async def test_dev_tells_a_link_that_opens_the_console(tmp_path: Path) -> None:
    async with host(tmp_path, local=True) as (url, links), browsing(url) as browser:
        assert (await browser.get("/console")).to == "/console/sign-in?next=/console"
        assert (await browser.get("/console.json")).status == 401
        while not links:
            await asyncio.sleep(0.01)
        (link,) = links
        shown = await browser.get(link.removeprefix(url))
        form = {name: shown.field(name) for name in ("csrf", "next", "once")}
        assert (await browser.post("/console/sign-in/link", form)).to == "/console"
        inside = await browser.get("/console", Accept="text/html")
        assert inside.status == 200
        assert "dev" in inside.words


async def test_dev_sends_nobody_to_a_provider(tmp_path: Path) -> None:
    """Its link is the one way in, also where an environment meant for ``serve`` names another."""
    oidc = {
        "GATEWAY_PUBLIC_URL": "https://june.example",
        "GATEWAY_OIDC_ISSUER": "https://id.shop.example",
        "GATEWAY_OIDC_CLIENT_ID": "june",
        "GATEWAY_OIDC_CLIENT_SECRET": "s" * 24,
        "GATEWAY_OIDC_ROLES": "*=admin",
    }
    async with host(tmp_path, local=True, **oidc) as (url, _), browsing(url) as browser:
        for path in ("begin", "back?state=x&code=y"):
            assert (await browser.get(f"/console/sign-in/{path}")).status == 403


@pytest.mark.parametrize("keys", ["", "k" * 40])
async def test_serve_lets_nobody_in_before_somebody_is_invited(tmp_path: Path, keys: str) -> None:
    given = {"GATEWAY_SECRET_KEYS": keys}
    async with host(tmp_path, local=False, **given) as (url, links), browsing(url) as browser:
        for path in ("/console", "/console/approvals", "/console/sessions"):
            assert (await browser.get(path)).to.startswith("/console/sign-in?next=")
            assert (await browser.get(f"{path}.json")).status == 401
        shown = await browser.get("/console/sign-in")
        assert shown.status == 503
        assert ("gateway users add NAME --role admin" in shown.words) is True
        assert ("GATEWAY_SECRET_KEYS" in shown.words) is not bool(keys)
        assert links == []
