"""The sign-in as people meet it: with a keyboard, a password manager's fields, and a phone's width."""

from __future__ import annotations

import re

import pytest

from tests.browser.kit import Browser, Looks, axe, everywhere, expect
from tests.unit.host.access.door import PASSWORD, door
from tests.unit.host.access.test_oidc import stage

pytestmark = [pytest.mark.browser, pytest.mark.timeout(90)]


async def test_the_link_of_dev_by_keyboard_alone(browser: Browser, looks: Looks) -> None:
    async with door(local=True) as at:
        page = await browser.open(f"{at.url}/console")
        await expect(page.get_by_text("Open the link that gateway dev printed")).to_be_visible()
        assert await axe(page) == []
        await page.goto(await at.access.local_link(at.url))
        async for look in everywhere(page, looks):
            assert await axe(page) == [], look
        button = page.get_by_role("button", name="Sign in")
        for _ in range(5):
            await page.keyboard.press("Tab")
            if await button.evaluate("it => it === document.activeElement"):
                break
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("console:dev admin")).to_be_visible()
        assert await page.evaluate("document.cookie") == "", "no script can read the session"


async def test_an_invited_user_sets_up_leaves_and_comes_back(
    browser: Browser, looks: Looks
) -> None:
    async with door() as at:
        link = await at.invite("ada", "operator")
        page = await browser.open(f"{at.url}{link}")
        async for look in everywhere(page, looks):
            assert await axe(page) == [], look
        assert await browser.weight(page) < 60_000
        key = await page.get_by_text(re.compile("^Key: ")).inner_text()
        at.secrets["ada"] = key.removeprefix("Key:").replace(" ", "").strip()
        await page.get_by_label("New password").fill(PASSWORD)
        await page.get_by_label("The same again").fill(PASSWORD)
        await page.get_by_label("The code it shows now").fill("000000")
        browser.forgive("status of 422")
        await page.get_by_role("button", name="Done").click()
        code = page.get_by_label("The code it shows now")
        await expect(code).to_have_accessible_description(re.compile("The code doesn't fit"))
        async for look in everywhere(page, looks):
            assert await axe(page) == [], look
        await page.get_by_label("New password").fill(PASSWORD)
        await page.get_by_label("The same again").fill(PASSWORD)
        await code.fill(at.code("ada"))
        await page.get_by_role("button", name="Done").click()
        await expect(page.get_by_role("heading", name="Your recovery codes")).to_be_visible()
        async for look in everywhere(page, looks):
            assert await axe(page) == [], look
        await page.get_by_role("link", name="go on").click()
        await expect(page.get_by_text("console:ada operator")).to_be_visible()

        at.clock.tick(90)
        other = await browser.open(f"{at.url}/console")
        async for look in everywhere(other, looks):
            assert await axe(other) == [], look
        browser.forgive("status of 403")
        for password in ("not this one", PASSWORD):
            await other.get_by_label("Name").fill("ada")
            await other.get_by_label("Password").fill(password)
            await other.get_by_label("Code").fill(at.code("ada"))
            await other.get_by_role("button", name="Sign in").click()
            if password != PASSWORD:
                await expect(other.get_by_role("alert")).to_contain_text("didn't match")
                assert await axe(other) == []
        await expect(other.get_by_text("console:ada operator")).to_be_visible()


async def test_through_a_provider_and_back(browser: Browser, looks: Looks) -> None:
    """The policy of our pages lets a browser go there, and the cookies come back with it."""
    async with stage() as on:
        page = await browser.open(f"{on.at.url}/console")
        async for look in everywhere(page, looks):
            assert await axe(page) == [], look
        await page.get_by_role("link", name="Sign in with 127.0.0.1").click()
        await expect(page.get_by_text("console:ada@shop.example operator")).to_be_visible()


async def test_a_console_that_is_off_says_so_to_everybody(browser: Browser, looks: Looks) -> None:
    browser.forgive("status of 503")
    async with door() as at:
        page = await browser.open(f"{at.url}/console")
        await expect(page.get_by_text("gateway users add NAME --role admin")).to_be_visible()
        async for look in everywhere(page, looks):
            assert await axe(page) == [], look
