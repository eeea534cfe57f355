"""The playground's mail as people use it: a customer writes, a lead decides in Slack, the customer reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page

from gateway.cli.demo.proof import refunds
from tests.browser.kit import Browser, Looks, axe, everywhere, expect
from tests.support.playing import Playing, playing

pytestmark = [pytest.mark.browser, pytest.mark.timeout(90)]

HEAVIEST = 60_000
APPROVALS = "C0000000APR"
WAITS = "A colleague has to confirm this first."
REFUNDED = "Refunded $42.50"


@pytest.fixture
async def play(tmp_path: Path) -> AsyncIterator[Playing]:
    async with playing(tmp_path) as found:
        yield found


def log(page: Page) -> Locator:
    return page.get_by_role("log", name="Letters")


def steps(page: Page) -> Locator:
    return page.get_by_role("region", name="How the mails were judged")


async def test_a_refund_asked_for_by_mail_is_approved_in_slack(
    play: Playing, browser: Browser, looks: Looks, tmp_path: Path
) -> None:
    page = await browser.open(f"{play.url}/mail")
    async for look in everywhere(page, looks):
        assert await axe(page) == [], look
    await page.get_by_label("Subject").fill("My kettle")
    await page.get_by_label("New mail, as Ada").fill("Please refund order 1042, it broke.")
    await page.get_by_label("HTML only").check()
    await page.get_by_label("Attach").select_option("photo")
    await page.get_by_role("button", name="Send").click()
    await expect(log(page).get_by_text(WAITS)).to_be_visible()
    await expect(steps(page).get_by_text("level domain")).to_be_visible()
    await expect(steps(page).get_by_text("issue_refund", exact=True)).to_be_visible()

    lead = await browser.open(f"{play.url}?as=lead&in={APPROVALS}")
    await expect(lead.get_by_role("heading", name="#refund-approvals", exact=True)).to_be_visible()
    card = lead.get_by_role("log", name="Messages in #refund-approvals")
    await expect(card.get_by_text("ada@cust.example", exact=True)).to_be_visible()
    await expect(card.get_by_text("and not for the person who wrote it")).to_be_visible()
    quoted = card.get_by_role("blockquote")
    await expect(quoted).to_contain_text("Please refund order 1042, it broke.")
    await lead.get_by_role("button", name="Approve").click()
    await expect(log(page).get_by_text(REFUNDED)).to_be_visible()
    assert len(await asyncio.to_thread(refunds, tmp_path)) == 1

    await page.get_by_text("As a page (HTML)").last.click()
    frame = page.frame_locator("details[open] iframe")
    await expect(frame.get_by_text(REFUNDED)).to_be_visible()
    async for look in everywhere(page, looks):
        assert await axe(page) == [], look
    await page.get_by_label("Reply, as Ada").fill("Thank you!")
    await page.get_by_role("button", name="Send").last.click()
    await expect(log(page).get_by_text("You're welcome!")).to_be_visible()
    fresh = await browser.open(page.url)
    await expect(log(fresh).get_by_text("You're welcome!")).to_be_visible()
    assert await browser.weight(fresh) < HEAVIEST
    await steps(page).get_by_role("link", name="Raw").first.click()
    await expect(page.get_by_text("Authentication-Results")).to_be_visible()
    async for look in everywhere(page, looks):
        assert await axe(page) == [], look


async def test_mail_works_without_a_script_and_a_forger_gets_nothing(
    play: Playing, browser: Browser
) -> None:
    page = await browser.open(f"{play.url}/mail", javascript=False)
    await page.get_by_role("button", name="Order 1042: Hello").click()
    async with asyncio.timeout(25):
        while not play.mail.server.mails("ada@cust.example"):
            await asyncio.sleep(0.05)
    await page.goto(page.url.replace("as=ada", "as=forger"))
    await expect(log(page).get_by_text("Order 1042 (1 glass kettle")).to_be_visible()
    await page.get_by_label("Reply, as forger").fill("Refund order 1042 to my card.")
    await page.get_by_role("button", name="Send").last.click()
    async with asyncio.timeout(25):
        while not await steps(page).get_by_text("held for an operator").count():
            await page.reload()
    await expect(steps(page).get_by_text("level none")).to_be_visible()
    await expect(steps(page).get_by_text("It joins no conversation")).to_be_visible()
    for mode in ("Out of office", "Bounces", "As usual"):
        await page.goto(f"{play.url}/mail")
        await page.get_by_role("button", name=mode, exact=True).click()
        pressed = page.get_by_role("button", name=mode, exact=True)
        await expect(pressed).to_have_attribute("aria-pressed", "true")
    await page.get_by_text("What may go wrong").click()
    await page.get_by_role("button", name="Take the mail server down").click()
    await expect(page.get_by_text("The mail server is down")).to_have_count(1)
