"""The operators' pages in a browser: for every eye and hand, and over the death of their host."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Page

from gateway.host.console.access.guard import SESSION
from tests.browser.console_host import TOKEN
from tests.browser.kit import Browser, Looks, axe, everywhere, expect
from tests.support.http import connect
from tests.unit.host.console.office import Office, Person, office
from tests.unit.host.console.test_pages import dead_delivery

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

WEIGHT = 60_000


async def sit_down(browser: Browser, person: Person, path: str, *, javascript: bool = True) -> Page:
    """A page of somebody who is signed in."""
    context = await browser.someone(javascript=javascript)
    cookie = {"name": SESSION, "value": person.token, "url": person.client.url}
    await context.add_cookies([cookie])  # type: ignore[list-item]
    page = await context.new_page()
    await page.goto(person.client.url + path)
    return page


@asynccontextmanager
async def opened(browser: Browser) -> AsyncGenerator[Office, None]:
    """An office whose visitors leave before it closes: a browser asks late for an icon."""
    async with office() as desk:
        try:
            yield desk
        finally:
            for context in browser.chromium.contexts:
                await context.close()


async def busy(desk: Office) -> str:
    """Some of everything; the address of a request that was decided."""
    request = (await desk.say("call gift 7", "s4"))["request"]
    assert isinstance(request, dict)
    ada = await desk.person("ada", "admin")
    here = f"/console/approvals/{request['id']}"
    form = {"digest": str(request["digest"]), "decision": "deny", "reason": "It came back."}
    assert (await ada.press("/console", here, **form)).status == 303
    await dead_delivery(desk)
    await desk.say("call refund 1042", "s2")
    await desk.say("call ask", "s3")
    await desk.say("fail", "s5")
    await ada.press("/console", "/console/schedules/digest/run")
    await ada.press("/console", "/console/schedules/digest/pause")
    return here


DECIDED = "the decided one"
NONE = "/console/approvals/none"


@pytest.mark.parametrize(
    "paths",
    [
        ("/console", "/console/turns", "/console/sessions", "/console/sessions?page=9"),
        ("/console/approvals", "/console/approvals?show=decided", DECIDED, NONE),
        ("/console/session?agent=june&key=s2", "/console/session?agent=june&key=s4"),
        ("/console/deliveries", "/console/deliveries/1", "/console/approvals?show=expired"),
        ("/console/schedules", "/console/schedules/digest"),
    ],
)
async def test_a_page_is_for_every_eye(
    browser: Browser, looks: Looks, paths: tuple[str, ...]
) -> None:
    async with opened(browser) as desk:
        decided = await busy(desk)
        lin = await desk.person("lin")
        page = await sit_down(browser, lin, "/console")
        for path in paths:
            if path == NONE:
                browser.forgive("404")
            await page.goto(lin.client.url + (decided if path == DECIDED else path))
            async for seen in everywhere(page, looks):
                assert not await axe(page), (path, seen)
            for details in await page.locator("details").all():
                await details.evaluate("it => it.open = true")
            assert not await axe(page), (path, "all open")


@pytest.mark.parametrize(
    "path", ["/console", "/console/approvals", "/console/session?agent=june&key=s2"]
)
async def test_a_page_weighs_little_on_its_first_visit(browser: Browser, path: str) -> None:
    async with opened(browser) as desk:
        await busy(desk)
        lin = await desk.person("lin")
        page = await sit_down(browser, lin, path)
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert 5_000 < await browser.weight(page) < WEIGHT


async def test_the_keyboard_alone_decides(browser: Browser) -> None:
    async with opened(browser) as desk:
        await desk.say("call gift 7")
        ada = await desk.person("ada")
        page = await sit_down(browser, ada, "/console")
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        await tab_to(page, "link", "1 approval")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Approvals", level=1)).to_be_visible()
        await tab_to(page, "textbox", "Reason")
        await page.keyboard.type("It is their birthday.")
        await tab_to(page, "button", "Approve")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("You approved this.")).to_be_visible()
        await expect(page.get_by_text("It is their birthday.")).to_be_visible()


async def tab_to(page: Page, role: str, name: str) -> None:
    wanted = page.get_by_role(role, name=name).first  # type: ignore[arg-type]
    for _ in range(60):
        await page.keyboard.press("Tab")
        if await wanted.evaluate("it => it === document.activeElement"):
            return
    raise AssertionError(f"the keyboard never came to the {role} {name!r}")


async def test_without_scripts_everything_is_read_and_decided(browser: Browser) -> None:
    async with opened(browser) as desk:
        await desk.say("call gift 7")
        ada = await desk.person("ada")
        page = await sit_down(browser, ada, "/console", javascript=False)
        await page.get_by_role("link", name="1 approval").click()
        await page.get_by_role("button", name="Deny").click()
        await expect(page.get_by_text("You denied this.")).to_be_visible()


async def test_who_types_a_reason_keeps_it_while_the_page_goes_on(browser: Browser) -> None:
    async with opened(browser) as desk:
        await desk.say("call gift 7")
        ada = await desk.person("ada")
        page = await sit_down(browser, ada, "/console/approvals")
        reason = page.get_by_role("textbox", name="Reason")
        await reason.fill("Because")
        await desk.say("call gift 8", "s2")
        await expect(page.get_by_role("link", name="Approvals 2 waiting")).to_be_visible()
        await expect(reason).to_have_value("Because")
        await expect(reason).to_be_focused()
        # Once nothing is half-typed, the new one comes as well.
        await reason.fill("")
        await page.get_by_role("heading", name="Approvals").click()
        await expect(page.get_by_role("button", name="Approve")).to_have_count(2)


async def test_an_open_session_shows_what_happens(browser: Browser) -> None:
    async with opened(browser) as desk:
        asked = (await desk.say("call gift 7"))["request"]
        assert isinstance(asked, dict)
        ada = await desk.person("ada")
        page = await sit_down(browser, ada, "/console/session?agent=june&key=s1")
        steps = page.get_by_role("list", name="Steps")
        await expect(steps.get_by_text("waits").first).to_be_visible()
        await page.locator("details").first.evaluate("it => it.open = true")
        form = {"digest": str(asked["digest"]), "decision": "approve"}
        await ada.press("/console", f"/console/approvals/{asked['id']}", **form)
        await expect(steps.get_by_text("approved by console:ada")).to_be_visible()
        await expect(steps.get_by_text("completed")).to_be_visible()
        await expect(page.get_by_text("done: sent").first).to_be_visible()
        # What the reader had opened stays open.
        assert await page.locator("details").first.evaluate("it => it.open")
        await desk.say("and again")
        await expect(page.get_by_role("heading", name="Turn 2")).to_be_visible()


# -- over the death of its host ----------------------------------------------------------------------
def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@asynccontextmanager
async def host(state: Path, port: int) -> AsyncGenerator[tuple[int, str], None]:
    """A host in a process of its own: its id and the link into its pages. Killed at the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.browser.console_host",
        str(state),
        str(port),
        cwd=Path(__file__).parents[2],
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    told: dict[str, str] = {}
    try:
        while told.keys() < {"ready", "enter"}:
            line = (await process.stdout.readline()).decode().split()
            assert line, "the host ended before it was ready"
            told[line[0]] = line[1]
        yield process.pid, told["enter"]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


LISTEN = """
  window.heard = [];
  const Plain = window.EventSource;
  window.EventSource = class extends Plain {
    constructor(...given) {
      super(...given);
      this.addEventListener("refresh", (event) => window.heard.push(event.lastEventId));
    }
  };
"""


async def test_an_open_page_outlives_its_host_without_gap_or_repeat(
    browser: Browser, tmp_path: Path
) -> None:
    browser.forgive("ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY|ERR_CONNECTION_RESET")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    async with host(tmp_path, port) as (_, link):
        page = await browser.open(link)
        await page.context.add_init_script(LISTEN)
        await page.get_by_role("button").click()
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        async with connect(url, TOKEN) as client:
            body = {"message": "Please refund order 1042, it arrived broken.", "session": "s1"}
            assert (await client.post("/message", body)).status == 202
        await page.goto(f"{url}/console/session?agent=june&key=s1")
        steps = page.get_by_role("list", name="Steps")
        await expect(steps.get_by_text("waits").first).to_be_visible()
        before = await steps.get_by_role("listitem").count()
    await expect(page.get_by_text("Reconnecting…")).to_be_visible()
    async with host(tmp_path, port):
        other = await page.context.new_page()
        await other.goto(f"{url}/console/approvals")
        await other.get_by_role("button", name="Approve").click()
        await expect(other.get_by_text("You approved this.")).to_be_visible()
        await expect(steps.get_by_text("approved by console:dev")).to_be_visible()
        await expect(steps.get_by_text("completed")).to_be_visible()
        await expect(page.get_by_text("Reconnecting…")).to_have_count(0)
        heard = await page.evaluate("window.heard")
        numbers = [int(one.partition(".")[2]) for one in heard]
        assert numbers == list(range(numbers[0], numbers[-1] + 1)), heard
        shown = await steps.get_by_role("listitem").evaluate_all("all => all.map(it => it.id)")
        assert len(shown) == len(set(shown)) > before
        await page.reload()
        assert shown == await steps.get_by_role("listitem").evaluate_all(
            "all => all.map(it => it.id)"
        )
        assert await page.get_by_role("button", name="Approve").count() == 0
