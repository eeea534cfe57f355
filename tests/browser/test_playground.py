"""The playground as people use it: by its names and roles, as one persona and as another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page
from slack_sdk.web.async_client import AsyncWebClient

from gateway.cli.demo.proof import refunds
from gateway.host.reloading.looking import look as look_at
from gateway.host.reloading.reloader import Reloader
from tests.browser.kit import Browser, Looks, axe, everywhere, expect
from tests.journeys.slack_stage import altered
from tests.support.playing import Playing, playing

pytestmark = [pytest.mark.browser, pytest.mark.timeout(90)]

HEAVIEST = 60_000


@pytest.fixture
async def play(tmp_path: Path) -> AsyncIterator[Playing]:
    async with playing(tmp_path) as found:
        yield found


async def ask(page: Page, words: str) -> None:
    """Write at the top of #orders, and be in the thread that it opens."""
    await page.get_by_label("Message to #orders").fill(words)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Thread", exact=True)).to_be_visible()


async def as_somebody(browser: Browser, page: Page, name: str) -> Page:
    """The same place, on somebody else's screen."""
    return await browser.open(page.url.replace("as=asker", f"as={name}"))


async def reach(page: Page, name: str) -> None:
    """Get to a button by the keyboard alone, from the top of the page."""
    await page.evaluate("document.activeElement.blur()")
    for _ in range(60):
        await page.keyboard.press("Tab")
        if await page.evaluate("document.activeElement.textContent") == name:
            return
    pytest.fail(f"the keyboard doesn't lead to {name}")


def thread(page: Page) -> Locator:
    """The thread, of all there is on the page."""
    return page.get_by_role("log", name="Thread")


async def test_a_question_is_answered_in_its_thread(play: Playing, browser: Browser) -> None:
    page = await browser.open(play.url)
    await expect(page.get_by_label("Message to #orders")).to_have_value("@june ")
    await ask(page, "@june where is order 1042?")
    await expect(thread(page).get_by_text("Order 1042 (1 glass kettle")).to_be_visible()
    steps = page.get_by_role("region", name="Steps of the turns")
    await expect(steps.get_by_text("find_order", exact=True)).to_be_visible()
    await expect(steps.get_by_text("let in", exact=True)).to_be_visible()
    await expect(steps.get_by_text("by another event (post-claimed)")).to_be_visible()
    await page.get_by_label("Reply in the thread").fill("and 1043?")
    await page.keyboard.press("Enter")
    await expect(thread(page).get_by_text("Order 1043 (")).to_be_visible()
    await page.get_by_role("link", name="Close the thread").click()
    await expect(page.get_by_role("link", name="replies")).to_be_visible()


async def test_text_appears_as_it_streams(play: Playing, browser: Browser) -> None:
    asker = play.office.personas["asker"].person
    asked = await asker.say(play.office.home, "a story, please")
    page = await browser.open(f"{play.url}?as=asker&in={asked.channel}&thread={asked.ts}")
    june = AsyncWebClient(token=play.office.june.token, base_url=play.slack.api_url)
    stream = await june.chat_startStream(
        channel=asked.channel,
        thread_ts=asked.ts,
        recipient_team_id=play.office.acme.id,
        recipient_user_id=asker.id,
    )
    growing = page.locator("[aria-busy=true]")
    for piece, so_far in (("Once upon", "Once upon"), (" a kettle", "Once upon a kettle")):
        await june.chat_appendStream(channel=asked.channel, ts=stream["ts"], markdown_text=piece)
        await expect(growing.get_by_text(so_far, exact=True)).to_be_visible()
    await june.chat_stopStream(channel=asked.channel, ts=stream["ts"])
    await expect(growing).to_have_count(0)
    await expect(thread(page).get_by_text("Once upon a kettle")).to_be_visible()


async def test_who_may_decides_by_keyboard_and_who_may_not_is_told_alone(
    play: Playing, browser: Browser, tmp_path: Path
) -> None:
    page = await browser.open(play.url)
    await ask(page, "@june please refund order 1042")
    outsider = await as_somebody(browser, page, "outsider")
    lead = await as_somebody(browser, page, "lead")
    await outsider.get_by_role("button", name="Approve").click()
    refused = "This one is for @support-leads to decide."
    await expect(outsider.get_by_text(refused)).to_be_visible()
    await expect(outsider.get_by_text("Only visible to you")).to_be_visible()
    await reach(lead, "Approve")
    await lead.keyboard.press("Enter")
    for each in (page, outsider, lead):
        await expect(thread(each).get_by_text("Refunded $42.50")).to_be_visible()
        await expect(thread(each).get_by_role("button", name="Approve")).to_have_count(0)
    for each in (page, lead):
        await expect(each.get_by_text(refused)).to_have_count(0)
    assert len(await asyncio.to_thread(refunds, tmp_path)) == 1


async def test_a_form_is_filled_in(play: Playing, browser: Browser, looks: Looks) -> None:
    page = await browser.open(play.url)
    await ask(page, "@june please refund order 1042")
    lead = await as_somebody(browser, page, "lead")
    await lead.get_by_text("More choices").click()
    await lead.get_by_role("button", name="Deny with a reason").click()
    dialog = lead.get_by_role("dialog", name="Deny")
    await expect(dialog.get_by_label("Reason")).to_be_focused()
    assert [look async for look in everywhere(lead, looks) if await axe(lead)] == []
    paint = "one => getComputedStyle(one).backgroundColor"
    deny, cancel = (dialog.get_by_role("button", name=one) for one in ("Deny", "Cancel"))
    assert await deny.evaluate(paint) == await cancel.evaluate(paint)
    await lead.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    await lead.get_by_role("button", name="Deny with a reason").click()
    await dialog.get_by_label("Reason").fill("we send another one")
    await dialog.get_by_role("button", name="Deny").click()
    await expect(dialog).to_have_count(0)
    await expect(thread(page).get_by_text("nothing was paid: we send another one")).to_be_visible()


async def test_a_form_says_what_is_wrong_in_it(browser: Browser, tmp_path: Path) -> None:
    wanted = 'schema={"type": "number", "title": "Amount", "maximum": 50},'
    agent = altered(tmp_path, "tools/issue_refund.py", "schema=bool,", wanted)
    async with playing(tmp_path / "state", agent) as play:
        page = await browser.open(play.url)
        await ask(page, "@june please refund order 1042")
        lead = await as_somebody(browser, page, "lead")
        await lead.get_by_role("button", name="Answer").click()
        dialog = lead.get_by_role("dialog")
        field = dialog.get_by_role("textbox").first
        await field.fill("500")
        await dialog.get_by_role("button", name="Send").click()
        await expect(field).to_have_attribute("aria-invalid", "true")
        await expect(field).to_have_value("500")
        assert await axe(lead) == []
        await field.fill("20")
        await dialog.get_by_role("button", name="Send").click()
        await expect(dialog).to_have_count(0)
        await browser.leave()


async def test_what_goes_wrong_is_not_seen(play: Playing, browser: Browser) -> None:
    page = await browser.open(play.url)
    await page.get_by_text("What may go wrong").click()
    await page.get_by_role("button", name="Send the next event twice").click()
    await page.get_by_role("button", name="Lose the connection after the next post").click()
    await expect(page.get_by_text("waits for its moment")).to_have_count(2)
    await ask(page, "@june hello")
    await expect(thread(page).get_by_text("Hello, I'm June.")).to_be_visible()
    await page.get_by_text("What may go wrong").click()
    await expect(page.get_by_text(": happened")).to_have_count(2)
    await play.slack.settled()
    assert len(play.by_bot(play.asked())) == 1
    await page.get_by_role("button", name="All well again").click()
    await expect(page.get_by_text("All is well.")).to_be_visible()


async def test_stop_is_there_while_the_agent_works(play: Playing, browser: Browser) -> None:
    asker = play.office.personas["asker"].person
    asked = await asker.say(play.office.home, "no mention here")
    page = await browser.open(f"{play.url}?as=asker&in={asked.channel}&thread={asked.ts}")
    june = AsyncWebClient(token=play.office.june.token, base_url=play.slack.api_url)
    where = {"channel_id": asked.channel, "thread_ts": asked.ts, "status": "processing"}
    await june.api_call("agents.sessions.setStatus", json=where)
    await page.get_by_role("button", name="Stop").click()
    await play.slack.until(lambda: bool(play.slack.journal.events("agent_session_stopped")))


async def test_it_works_without_a_script(play: Playing, browser: Browser) -> None:
    page = await browser.open(play.url, javascript=False)
    await page.get_by_label("Message to #orders").fill("@june please refund order 1042")
    await page.get_by_role("button", name="Send").click()
    await play.slack.until(lambda: bool(play.slack.thread(*_root(play))[-1].buttons), 25)
    await page.goto(page.url.replace("as=asker", "as=lead"))
    await page.get_by_role("button", name="Approve").click()
    await play.said(play.asked(), "Refunded $42.50")
    await page.reload()
    await expect(thread(page).get_by_text("Refunded $42.50")).to_be_visible()


def _root(play: Playing) -> tuple[str, str]:
    asked = play.asked()
    return asked.channel, asked.ts


async def test_what_cant_be_done_is_said(play: Playing, browser: Browser) -> None:
    page = await browser.open(play.url)
    await page.get_by_label("Message to #orders").fill("/dance")
    await page.get_by_role("button", name="Send").click()
    await expect(page.get_by_role("alert")).to_contain_text("No app here has the command /dance")
    await expect(page.get_by_label("Message to #orders")).to_have_value("/dance")


async def test_expensive_refunds_take_two_leads(play: Playing, browser: Browser) -> None:
    page = await browser.open(play.url)
    await ask(page, "@june please refund order 1045")
    lead = await as_somebody(browser, page, "lead")
    await lead.get_by_role("button", name="Approve").click()
    await expect(thread(page).get_by_text("1 of 2").first).to_be_visible()
    await lead.get_by_role("link", name="other lead").click()
    await lead.get_by_role("button", name="Approve").click()
    await expect(thread(page).get_by_text("Refunded $612.00")).to_be_visible()


async def test_a_mistake_in_a_file_shows_until_it_is_mended(
    browser: Browser, tmp_path: Path
) -> None:
    line = "    services: Services = ctx.services\n"
    agent = altered(tmp_path, "tools/issue_refund.py", line, line)
    file = agent / "tools" / "issue_refund.py"
    good = file.read_text()
    async with playing(tmp_path / "state", agent) as play:
        reloader = Reloader(play.host, await asyncio.to_thread(look_at, agent))
        page = await browser.open(play.url)
        await expect(page.get_by_role("alert")).to_have_count(0)
        file.write_text(good.replace(line, "    services = = ctx\n"))
        await reloader.reload(["tools/issue_refund.py"])
        number = good.splitlines().index(line.rstrip()) + 1
        await expect(page.get_by_role("alert")).to_contain_text(f"tools/issue_refund.py:{number}: ")
        assert await axe(page) == []
        fresh = await browser.open(play.url, javascript=False)
        await expect(fresh.get_by_role("alert")).to_contain_text("the code from before goes on")
        file.write_text(good)
        await reloader.reload(["tools/issue_refund.py"])
        await expect(page.get_by_role("alert")).to_have_count(0)
        await browser.leave()


@pytest.mark.parametrize("width", [1280, 390])
async def test_what_is_said_of_the_connection_covers_no_button(
    play: Playing, browser: Browser, width: int
) -> None:
    browser.forgive("ERR_|Failed to load resource")
    page = await browser.open(play.url, width=width)
    await page.route("**/playground/live**", lambda route: route.abort())
    await page.reload()
    told = page.get_by_text("Reconnecting…")
    await expect(told).to_be_visible()
    for name in ("Send", "@june where is order 1042?"):
        button = page.get_by_role("button", name=name)
        await button.scroll_into_view_if_needed()
        over = await button.evaluate(
            """one => { const at = one.getBoundingClientRect();
            return [[.5, .1], [.5, .9], [.1, .5], [.9, .5]].every(([x, y]) => one.contains(
                document.elementFromPoint(at.x + x * at.width, at.y + y * at.height))); }"""
        )
        assert over, name


async def test_every_page_is_light_and_for_everybody(
    play: Playing, browser: Browser, looks: Looks
) -> None:
    page = await browser.open(play.url)
    async for look in everywhere(page, looks):
        assert await axe(page) == [], look
    await ask(page, "@june please refund order 1042")
    await expect(page.get_by_role("button", name="Approve")).to_be_visible()
    await page.get_by_text("What may go wrong").click()
    async for look in everywhere(page, looks):
        assert await axe(page) == [], look
    fresh = await browser.open(page.url)
    await expect(fresh.get_by_role("button", name="Approve")).to_be_visible()
    assert await browser.weight(fresh) < HEAVIEST
