"""The page over HTTP: whom it lets in, and what its forms make of what they are sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import get_args

import aiohttp
import pytest

from channels.contract import Word
from gateway.playground.faults import MENU
from gateway.playground.turns import ECHO, JUDGED
from tests.support.playing import Playing, playing
from tests.unit.host.world import until

pytestmark = pytest.mark.timeout(60)

JSON = {"Accept": "application/json"}


@pytest.fixture
async def play(tmp_path: Path) -> AsyncIterator[Playing]:
    async with playing(tmp_path) as found:
        yield found


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(force_close=True)
    async with aiohttp.ClientSession(connector=connector) as found:
        yield found


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"X-Forwarded-For": "10.0.0.1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://evil.example"},
    ],
)
async def test_nobody_else_s_page_acts(
    play: Playing, http: aiohttp.ClientSession, headers: Mapping[str, str]
) -> None:
    form = {"as": "asker", "text": "@june hello"}
    async with http.post(f"{play.url}/say", data=form, headers=headers) as answer:
        assert answer.status == 403
    assert not play.slack.world.messages[play.office.home.id]


@pytest.mark.parametrize("path", ["", "/live"])
async def test_another_name_for_this_machine_shows_nothing(
    play: Playing, http: aiohttp.ClientSession, path: str
) -> None:
    async with http.get(f"{play.url}{path}", headers={"Host": "evil.example"}) as answer:
        assert answer.status == 403


@pytest.mark.parametrize(
    ("media", "status"),
    [
        ("multipart/form-data", 415),
        ("multipart/form-data; boundary=x", 415),
        ("application/x-www-form-urlencoded", 400),
    ],
)
async def test_what_is_no_form_is_refused(
    play: Playing, http: aiohttp.ClientSession, media: str, status: int
) -> None:
    sent, headers = b"--x\r\nas=%ff&text=%00", {"Content-Type": media}
    async with http.post(f"{play.url}/say", data=sent, headers=headers) as answer:
        assert answer.status == status
        assert (await answer.json())["fix"]


async def test_a_form_leads_back_to_where_it_was_sent_from(
    play: Playing, http: aiohttp.ClientSession
) -> None:
    form = {"as": "asker", "text": "no mention"}
    async with http.post(f"{play.url}/say", data=form, allow_redirects=False) as answer:
        assert answer.status == 303
        assert answer.headers["Location"].endswith(f"&thread={play.asked().ts}")
    async with http.post(f"{play.url}/nothing", data=form) as answer:
        assert answer.status == 404


@pytest.mark.parametrize(
    ("act", "form", "note"),
    [
        ("say", {"text": "  "}, "Write something first."),
        ("say", {"text": "x" * 4001}, "A message holds 4,000 characters; this has 4,001."),
        ("click", {"ts": "1.2", "action": "x"}, "The message 1.2 isn't there any more."),
        ("submit", {}, "The form is closed already."),
        ("fault", {"fault": "99"}, "The menu has no such entry."),
    ],
)
async def test_what_cant_be_done_is_said(
    play: Playing, http: aiohttp.ClientSession, act: str, form: Mapping[str, str], note: str
) -> None:
    async with http.post(f"{play.url}/{act}", data=form, headers=JSON) as answer:
        assert (await answer.json())["note"] == note
    async with http.post(f"{play.url}/{act}", data=form) as answer:
        page = await answer.text()
    assert note.replace("'", "&#39;") in page
    async with http.get(play.url) as answer:
        assert note.replace("'", "&#39;") not in await answer.text()


async def test_every_entry_of_the_menu_is_a_fault(
    play: Playing, http: aiohttp.ClientSession
) -> None:
    for number in range(len(MENU)):
        form = {"fault": str(number)}
        async with http.post(f"{play.url}/fault", data=form, headers=JSON) as answer:
            assert answer.status == 200
    assert [one.kind for one in play.slack.faults.planned] == [entry.sample.kind for entry in MENU]
    async with http.get(play.url) as answer:
        assert (await answer.text()).count("waits for its moment") == len(MENU)
    async with http.post(f"{play.url}/repair", data={"as": "asker"}, headers=JSON) as answer:
        assert answer.status == 200
    assert not play.slack.faults.planned


async def test_what_isnt_yours_to_see_leads_home(
    play: Playing, http: aiohttp.ClientSession
) -> None:
    ops = next(c for c in play.slack.world.channels.values() if c.name == "ops")
    for asked in (f"as=outsider&in={ops.id}", "as=nobody&in=C1&thread=1.2"):
        async with http.get(f"{play.url}?{asked}") as answer:
            assert "#orders · Playground" in await answer.text()
    async with http.get(f"{play.url}?as=lead&in={ops.id}") as answer:
        assert "#ops · Playground" in await answer.text()


async def test_an_open_page_is_told_what_changes_and_of_the_end(
    play: Playing, http: aiohttp.ClientSession
) -> None:
    asker = play.office.personas["asker"].person
    async with http.get(f"{play.url}/live") as stream:
        assert stream.headers["Content-Type"] == "text/event-stream"
        async with asyncio.timeout(20):
            assert await stream.content.readline() == b": open\n"
            await asker.say(play.office.home, "no <b>mention</b>")
            told = ""
            while "mention" not in told:
                told = (await stream.content.readline()).decode()
        html = json.loads(told.removeprefix("data: "))["html"]
        assert "no &lt;b&gt;mention&lt;/b&gt;" in html
        play.host.api.drain()
        play.host.api.end_streams()
        async with asyncio.timeout(20):
            assert b"this host is stopping" in await stream.content.read()
    await until(lambda: not play.host.api.streams and not play.slack.journal.watchers)


async def test_a_new_workspace_on_the_same_database_is_heard_from_the_first_mention(
    tmp_path: Path,
) -> None:
    claimed: list[str] = []
    for _ in range(2):
        async with playing(tmp_path) as play:
            asked = await play.office.personas["asker"].person.say(play.office.home, "@june hello")
            await play.said(asked, "Hello, I'm June.")
            claimed += [str(sent.payload["event_id"]) for sent in play.slack.journal.deliveries]
            leads = play.host.settings.environ["REFUND_APPROVERS"]
            assert all(one in leads.split(",") for one in play.office.leads)
    assert len(set(claimed)) == len(claimed) >= 4


async def test_each_verdict_has_words_for_people() -> None:
    assert set(JUDGED) | {ECHO} == set(get_args(Word))
