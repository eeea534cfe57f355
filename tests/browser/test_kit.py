"""The kit itself: a browser that sees pages of this machine, and whose complaints fail a test."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from tests.browser.kit import DAILY, OTHERS, Browser, Looks, axe, browsing, everywhere, expect
from tests.support.http import on_socket

pytestmark = [pytest.mark.browser, pytest.mark.timeout(60)]

GOOD = """<!DOCTYPE html><html lang="en"><head><title>Orders</title><meta name="viewport"
content="width=device-width"></head><body><main><h1>Orders</h1>{}</main></body></html>"""


@asynccontextmanager
async def a_page(body: str) -> AsyncGenerator[str, None]:
    async def show(_: web.Request) -> web.Response:
        return web.Response(text=GOOD.format(body), content_type="text/html")

    async def bell(_: web.Request) -> web.Response:
        return web.Response(status=204)

    app = web.Application()
    app.router.add_get("/", show)
    app.router.add_get("/favicon.ico", bell)
    async with on_socket(app) as url:
        yield url


async def look_at(url: str) -> None:
    async with browsing() as browser:
        page = await browser.open(url)
        await page.wait_for_load_state("networkidle")


async def test_a_page_of_this_machine_is_seen_and_weighed(browser: Browser) -> None:
    async with a_page("<p>none yet</p>") as url:
        page = await browser.open(url)
        await expect(page.get_by_role("heading", name="Orders")).to_be_visible()
        assert 0 < await browser.weight(page) < 2_000
        seen = [look async for look in everywhere(page, DAILY + OTHERS)]
        assert seen == ["light, 1280 px", "dark, 390 px", "dark, 1280 px", "light, 390 px"]
        assert await axe(page) == []


async def test_axe_finds_what_a_screen_reader_would_miss(browser: Browser) -> None:
    async with a_page("<button></button>") as url:
        page = await browser.open(url)
        assert [finding.split()[0] for finding in await axe(page)] == ["button-name"]


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("<img alt='' src='http://shop.example/a.png'>", "a request to elsewhere: http://shop"),
        ("<script>fetch('https://shop.example/')</script>", "a request to elsewhere: https://shop"),
        ("<script>console.error('no such order')</script>", "no such order"),
        ("<script>undefined.order</script>", "a script threw"),
    ],
)
async def test_what_goes_wrong_on_a_page_fails_the_test(body: str, complaint: str) -> None:
    async with a_page(body) as url:
        with pytest.raises(AssertionError, match=complaint):
            await look_at(url)


async def test_a_complaint_that_was_expected_is_forgiven() -> None:
    async with (
        a_page("<script>console.error('the server is gone')</script>") as url,
        browsing() as browser,
    ):
        browser.forgive("the server is gone")
        await browser.open(url)


@pytest.mark.parametrize("looks", [DAILY, OTHERS])
async def test_a_page_too_wide_for_a_phone_is_found(browser: Browser, looks: Looks) -> None:
    async with a_page("<div style='width: 800px'>wide</div>") as url:
        page = await browser.open(url)
        with pytest.raises(AssertionError, match="wide on a screen of 390"):
            assert [look async for look in everywhere(page, looks)]
