"""A real browser for the pages of the gateway: nothing it does leaves this machine, and no error stays unseen.

    async def test_the_page_greets(browser: Browser, looks: Looks) -> None:
        page = await browser.open(url)
        await expect(page.get_by_role("heading", name="Approvals")).to_be_visible()
        async for look in everywhere(page, looks):
            assert not await axe(page), look

``looks`` is a fixture: two of the four that there are every day, the other two in the long suite. Wait for roles
and names, never for a time. Ask for ``browser`` behind the fixture that serves, or ``leave()`` before
the server goes: a page that is still open then complains. What went wrong on any page (a request to elsewhere, an error
on the console, a script that threw) fails the test when it ends.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import pytest
from playwright.async_api import (
    Browser as Chromium,
)
from playwright.async_api import (
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    Route,
    WebError,
    async_playwright,
    expect,
)

__all__ = ["Browser", "Looks", "axe", "browsing", "everywhere", "expect"]

Scheme = Literal["light", "dark"]
Looks = tuple[tuple[Scheme, int], ...]
"""Colours, and how wide the screen is."""

DESK, PHONE = 1280, 390
DAILY: Looks = (("light", DESK), ("dark", PHONE))
OTHERS: Looks = (("dark", DESK), ("light", PHONE))
"""Colours don't hang on the width, as a rule. The long suite looks whether that is so."""
HEIGHT = 900
PATIENCE = 20_000
"""Milliseconds that something on a page may take to come about."""
OURS = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})
FLAGS = (
    "--no-sandbox",  # root has none, and the pages are our own
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
expect.set_options(timeout=PATIENCE)
AXE = Path(__file__).parent / "vendor" / "axe.min.js"


@dataclass  # without slots: playwright notes its wrappers on whose methods it calls
class Browser:
    """One browser for one test. ``forgiven`` are console errors that the test brings about itself, such as
    those about a server that it kills."""

    chromium: Chromium
    offences: list[str] = field(default_factory=list[str])
    forgiven: list[re.Pattern[str]] = field(default_factory=list[re.Pattern[str]])
    _loaded: list[Request] = field(default_factory=list[Request])

    async def open(
        self, url: str, *, scheme: Scheme = "light", width: int = DESK, javascript: bool = True
    ) -> Page:
        """A page of somebody new, who shares no cookie with the others."""
        someone = await self.someone(scheme=scheme, width=width, javascript=javascript)
        page = await someone.new_page()
        await page.goto(url)
        return page

    async def someone(
        self, *, scheme: Scheme = "light", width: int = DESK, javascript: bool = True
    ) -> BrowserContext:
        """Somebody with cookies of their own; ``new_page()`` opens a page of theirs."""
        context = await self.chromium.new_context(
            color_scheme=scheme,
            viewport={"width": width, "height": HEIGHT},
            java_script_enabled=javascript,
            reduced_motion="reduce",
            locale="en-GB",
            timezone_id="UTC",
        )
        context.set_default_timeout(PATIENCE)
        context.on("console", self._said)
        context.on("weberror", self._threw)
        context.on("requestfinished", self._finished)
        await context.route("**/*", self._guard)
        return context

    async def leave(self) -> None:
        """Close every page."""
        for context in self.chromium.contexts:
            await context.close()

    async def weight(self, page: Page) -> int:
        """What this page has loaded so far, in bytes on the wire, heads and bodies; streams count once
        they end."""
        total = 0
        for request in self._loaded:
            if request.frame.page == page:
                sizes = await request.sizes()
                total += sizes["responseHeadersSize"] + sizes["responseBodySize"]
        return total

    def forgive(self, pattern: str) -> None:
        self.forgiven.append(re.compile(pattern))

    def verdict(self) -> None:
        """Raise for what went wrong."""
        told = [
            offence
            for offence in self.offences
            if not any(pattern.search(offence) for pattern in self.forgiven)
        ]
        assert not told, "the browser complained:\n" + "\n".join(told)

    # -- watching ----------------------------------------------------------------------------------
    async def _guard(self, route: Route) -> None:
        url = urlsplit(route.request.url)
        if url.scheme in {"data", "blob", "about"} or url.hostname in OURS:
            await route.continue_()
            return
        self.offences.append(f"a request to elsewhere: {route.request.url}")
        await route.abort()

    def _finished(self, request: Request) -> None:
        self._loaded.append(request)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            where = message.location.get("url", "")
            self.offences.append(f"an error on the console: {message.text} ({where})")

    def _threw(self, error: WebError) -> None:
        self.offences.append(f"a script threw: {error.error}")


@asynccontextmanager
async def browsing() -> AsyncGenerator[Browser, None]:
    """A browser for as long as the block lasts; leaving it is where complaints are raised."""
    path = shutil.which("chromium")
    if path is None:
        pytest.fail("the browser tests need Chromium. fix: apt-get install chromium", pytrace=False)
    async with async_playwright() as play:
        chromium = await play.chromium.launch(executable_path=path, headless=True, args=list(FLAGS))
        try:
            browser = Browser(chromium)
            yield browser
        finally:
            await chromium.close()
    browser.verdict()


# -- looking -------------------------------------------------------------------------------------------
async def everywhere(page: Page, looks: Looks) -> AsyncIterator[str]:
    """The page as it stands, in each of the looks. Nothing may have to be pushed sideways."""
    for scheme, width in looks:
        await page.emulate_media(color_scheme=scheme)
        await page.set_viewport_size({"width": width, "height": HEIGHT})
        wide = await page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{page.url} is {wide} px wide on a screen of {width}"
        yield f"{scheme}, {width} px"


@cache
def _axe() -> str:
    return AXE.read_text(encoding="utf-8")


async def axe(page: Page) -> list[str]:
    """What axe finds wrong for people who don't see, hear or point: a line for each, with its place."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(_axe())
    found = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{finding['id']} ({finding['impact']}): {finding['help']}: {node['html'][:200]}"
        for finding in found["violations"]
        for node in finding["nodes"]
    ]
