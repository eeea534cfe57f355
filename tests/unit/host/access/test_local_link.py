"""The pages of ``gateway dev``: a link for one use, on this machine, and nothing else."""

from __future__ import annotations

import logging
import re

import pytest

from tests.unit.host.access.door import Browser, Door, Shown, door


async def press(browser: Browser, link: str, **over: str) -> Shown:
    """Open the link and press its button."""
    return await send(browser, await browser.get(link), **over)


async def send(browser: Browser, shown: Shown, **over: str) -> Shown:
    assert shown.status == 200, shown.words
    form = {name: shown.field(name) for name in ("csrf", "next", "once")}
    return await browser.post("/console/sign-in/link", form | over)


async def link_of(at: Door) -> str:
    whole = await at.access.local_link(at.url)
    assert whole.startswith(f"{at.url}/console/sign-in?once=")
    return whole.removeprefix(at.url)


async def test_the_link_signs_in_once_as_an_admin() -> None:
    async with door(local=True) as at, at.browser() as browser:
        assert (await browser.get("/console")).to == "/console/sign-in?next=/console"
        link = await link_of(at)
        async with at.browser() as other:
            opened = await other.get(link)
            done = await press(browser, link)
            assert (done.status, done.to) == (303, "/console")
            assert (await browser.get("/console")).text.startswith("console:dev admin ")
            again = await send(other, opened)
            assert again.status == 403
            assert "used already" in again.words
            assert (await other.get("/console")).status == 303


async def test_opening_the_link_uses_nothing_up() -> None:
    async with door(local=True) as at, at.browser() as browser:
        link = await link_of(at)
        async with at.browser() as scanner:
            for _ in range(3):
                assert "works once" in (await scanner.get(link)).words
        assert (await press(browser, link)).status == 303


async def test_the_link_is_good_for_five_minutes() -> None:
    async with door(local=True) as at, at.browser() as browser:
        link = await link_of(at)
        opened = await browser.get(link)
        at.clock.tick("301s")
        assert (await send(browser, opened)).status == 403
        assert (await browser.get("/console")).status == 303


@pytest.mark.parametrize("over", ["used", "late", "forged"])
async def test_a_link_that_is_over_says_so_when_it_is_opened(over: str) -> None:
    async with door(local=True) as at, at.browser() as browser, at.browser() as first:
        link = await link_of(at)
        if over == "used":
            await press(first, link)
        elif over == "late":
            at.clock.tick("301s")
        else:
            link += "x"
        shown = await browser.get(link)
        assert shown.status == 403
        assert "used already, or its time is over" in shown.words
        assert "For a new one, run gateway users link" in shown.words
        assert 'name="once"' not in shown.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "june.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"X_Forwarded_For": "192.0.2.1"},
        {"Forwarded": "for=192.0.2.1"},
    ],
)
async def test_nobody_else_s_address_opens_it(headers: dict[str, str]) -> None:
    """A name that was pointed at this machine, or a proxy that lets others through, isn't us."""
    async with door(local=True) as at, at.browser() as browser:
        link = await link_of(at)
        assert (await browser.get(link, **headers)).status == 403
        shown = await browser.get(link)
        form = {name: shown.field(name) for name in ("csrf", "next", "once")}
        refused = await browser.post("/console/sign-in/link", form, **headers)
        assert refused.status == 403
        assert "this machine alone" in refused.words
        assert (await browser.post("/console/sign-in/link", form)).status == 303

        inside = await browser.get("/console", **headers)
        assert inside.status == 303, "a session is no more than the link was"
        assert (await browser.get("/console")).status == 200


async def test_its_session_is_none_once_the_same_store_is_served() -> None:
    async with door(local=True) as at, at.browser() as browser:
        await press(browser, await link_of(at))
        assert (await browser.get("/console")).status == 200
        at.access.local = False
        assert (await browser.get("/console")).status == 303


async def test_a_link_opens_nothing_where_links_are_not_the_way() -> None:
    async with door() as at, at.browser() as browser:
        await at.user("ada")
        link = await link_of(at)
        shown = await browser.get("/console/sign-in")
        form = {"csrf": shown.field("csrf"), "once": link.partition("=")[2]}
        assert (await browser.post("/console/sign-in/link", form)).status == 403
        assert (await browser.get("/console")).status == 303


async def test_nobody_signs_in_by_password_in_dev() -> None:
    async with door(local=True) as at, at.browser() as browser:
        shown = await browser.get(await link_of(at))
        form = {"csrf": shown.field("csrf"), "name": "dev", "password": "x", "code": "1"}
        assert (await browser.post("/console/sign-in", form)).status == 403


async def test_no_log_holds_the_link(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with door(local=True) as at, at.browser() as browser:
        link = await link_of(at)
        async with at.browser() as other:
            opened = await other.get(link)
            await press(browser, link)
            await send(other, opened)
        said = "\n".join(caplog.messages)
        assert re.search(r"dev signed in by link \(from 127\.0\.0\.1\)", said)
        assert "sign-in by link failed" in said
        for secret in (link.partition("=")[2], browser.cookie):
            assert secret
            assert secret not in said
