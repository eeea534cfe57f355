"""The mail of the playground over HTTP: what its forms do, what it shows, and what stays harmless."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import aiohttp
import pytest

from channels.email.emulator.server import MailServer
from gateway.config import Settings
from gateway.engine.errors import ConfigError
from gateway.playground.keys import FILE, own_key
from gateway.playground.mail.menu import MENU
from gateway.playground.mail.office import ADA, FORGER, PEOPLE, SUPPORT, furnish_mail
from gateway.playground.mail.reading import Thread, letters, threads
from gateway.playground.running import open_playground
from gateway.testing.mail import Draft
from tests.support.playing import Playing, playing

pytestmark = pytest.mark.timeout(60)

JSON = {"Accept": "application/json"}
QUESTION = {"as": "ada", "subject": "My kettle", "text": "Hello, where is order 1042?"}
ANSWER = '<div class="words">Order 1042 (1 glass kettle, $42.50) is delivered'
SEEN = 25.0


@pytest.fixture
async def play(tmp_path: Path) -> AsyncIterator[Playing]:
    async with playing(tmp_path) as found:
        yield found


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(force_close=True)
    async with aiohttp.ClientSession(connector=connector) as found:
        yield found


async def write(
    play: Playing, http: aiohttp.ClientSession, form: Mapping[str, str], act: str = "write"
) -> str:
    """The address that it leads to."""
    url = f"{play.url}/mail/{act}"
    async with http.post(url, data=form, allow_redirects=False) as answer:
        assert answer.status == 303
        return answer.headers["Location"]


async def shows(play: Playing, http: aiohttp.ClientSession, path: str, *words: str) -> str:
    """The page, once all of this stands on it."""
    url = f"{play.url.removesuffix('/playground')}{path}"
    async with asyncio.timeout(SEEN):
        while True:
            async with http.get(url) as answer:
                page = await answer.text()
            if all(one in page for one in words):
                return page
            await asyncio.sleep(0.05)


def thread(play: Playing, person: str = "ada") -> Thread:
    return threads(letters(play.mail, PEOPLE[person]))[0]


async def test_a_mail_is_answered_and_beside_it_stands_how_it_was_judged(
    play: Playing, http: aiohttp.ClientSession
) -> None:
    at = await write(play, http, {**QUESTION, "page": "1", "file": "photo"})
    page = await shows(play, http, at, ANSWER, "let in", "find_order", "delivered")
    for words in ("level domain", "not_vouching", "It begins conversation", "kettle.png"):
        assert words in page
    question, answer = thread(play).letters
    assert (question.html, question.files, answer.kind) == (True, ("kettle.png",), "app")
    await write(play, http, {"as": "ada", "letter": answer.id, "text": "Thank you!"}, "reply")
    await shows(play, http, at, "It goes on with conversation", '<div class="words">You&#39;re')
    raw = await shows(play, http, f"/playground/mail/raw?id={question.id}", "Every byte")
    assert "dmarc=pass" in raw
    assert "How it was judged" in raw


async def test_a_forger_sees_that_it_joins_nothing(
    play: Playing, http: aiohttp.ClientSession
) -> None:
    at = await write(play, http, QUESTION)
    await shows(play, http, at, ANSWER)
    form = {"as": "forger", "letter": thread(play).latest.id, "text": "Refund order 1042, please."}
    at = await write(play, http, form, "reply")
    page = await shows(play, http, at, "held for an operator", "It joins no conversation")
    assert "level none" in page
    assert "(dmarc_not_pass)" in page
    assert len(play.mail.server.mails(ADA.address)) == 1
    assert not [one for one in letters(play.mail, ADA) if "Refund" in one.new]
    assert [one.author for one in letters(play.mail, FORGER)][-1] == ADA.address


async def test_a_colleague_who_answers_a_customer_takes_over(
    play: Playing, http: aiohttp.ClientSession
) -> None:
    at = await write(play, http, QUESTION)
    await shows(play, http, at, ANSWER)
    form = {"as": "colleague", "letter": thread(play).latest.id, "text": "I'll bring it myself."}
    at = await write(play, http, form, "reply")
    await shows(play, http, at, "(colleague-answered)")
    assert "bring it myself" in thread(play).latest.new


async def test_out_of_office_meets_silence_and_a_bounce_shows(
    play: Playing, http: aiohttp.ClientSession
) -> None:
    await write(play, http, {"as": "ada", "mode": "away"}, "mode")
    at = await write(play, http, QUESTION)
    page = await shows(play, http, at, ANSWER, "automated", "(auto-submitted)")
    assert 'value="away" aria-pressed="true"' in page
    await write(play, http, {"as": "ada", "mode": "bounce"}, "mode")
    at = await write(play, http, {**QUESTION, "subject": "Another"})
    await shows(play, http, at, "given up", "bounced: ada@cust.example refused it")


async def test_a_letter_that_came_twice_is_shown_once(
    play: Playing, http: aiohttp.ClientSession
) -> None:
    draft = Draft(sender=f"June <{SUPPORT}>", to=[ADA.address], subject="Twice", text="Once.")
    for _ in range(2):
        await play.mail.server.deliver(raw := draft.raw(), ADA.address, SUPPORT)
        draft = Draft(sender="x@x.example", to=[ADA.address], subject="Other", text="Other.")
        await play.mail.server.deliver(raw, ADA.address, SUPPORT)
    found = {one.subject: one for one in letters(play.mail, ADA)}
    assert {name: one.copies for name, one in found.items()} == {"Twice": 2, "Other": 2}
    path = f"/playground/mail?as=ada&letter={found['Twice'].id}"
    page = await shows(play, http, path, "came 2 times, the same letter")
    assert page.count('<div class="words">Once.') == 1


async def test_what_is_written_while_the_server_is_down_is_answered_when_it_is_back(
    play: Playing, http: aiohttp.ClientSession
) -> None:
    await write(play, http, {"as": "ada"}, "down")
    at = await write(play, http, QUESTION)
    await shows(play, http, at, "The mail server is down", "It lies in the inbox")
    await write(play, http, {"as": "ada"}, "repair")
    await shows(play, http, at, ANSWER, "All is well.")


@pytest.mark.parametrize(
    ("act", "form", "note"),
    [
        ("write", {"text": "  "}, "Write something first."),
        ("write", {"text": "x" * 20_001}, "A mail from here holds 20,000 characters; this has"),
        ("write", {"text": "x", "subject": "y" * 201}, "A subject holds 200 characters; this has"),
        ("write", {"text": "x", "to": "no@where.example"}, "Nobody here has the address no@where"),
        ("write", {"text": "x", "to": "a@b\nBcc: c@d"}, "Nobody here has the address"),
        ("write", {"text": "x", "file": "secrets"}, "There is no such file to attach."),
        ("write", {"text": "x", "as": "support"}, "The gateway answers from this mailbox; be"),
        ("reply", {"text": "x"}, "The thread isn't there any more."),
        ("mode", {"mode": "gone"}, "This mailbox has no such setting."),
        ("mode", {"mode": "away", "as": "support"}, "This mailbox has no such setting."),
        ("fault", {"fault": "99"}, "The menu has no such entry."),
    ],
)
async def test_what_cant_be_done_is_said(
    play: Playing, http: aiohttp.ClientSession, act: str, form: Mapping[str, str], note: str
) -> None:
    async with http.post(f"{play.url}/mail/{act}", data=form, headers=JSON) as answer:
        assert str((await answer.json())["note"]).startswith(note)
    assert not play.mail.server.mails(SUPPORT)


async def test_every_entry_of_the_menu_is_a_fault(
    play: Playing, http: aiohttp.ClientSession
) -> None:
    for number in range(len(MENU)):
        await write(play, http, {"fault": str(number)}, "fault")
    planned = play.mail.server.faults.planned
    assert [(one.kind, one.on) for one in planned] == [
        (one.sample.kind, one.sample.on) for one in MENU
    ]
    page = await shows(play, http, "/playground/mail", "waits for its moment")
    assert all(page.count(f"{one.name}: ") == 1 for one in MENU)


@pytest.mark.parametrize("path", ["", "/live", "/raw", "/page"])
async def test_another_name_for_this_machine_shows_nothing(
    play: Playing, http: aiohttp.ClientSession, path: str
) -> None:
    async with http.get(f"{play.url}/mail{path}", headers={"Host": "evil.example"}) as answer:
        assert answer.status == 403


async def test_what_a_letter_holds_is_words_on_our_pages_and_runs_nowhere(
    play: Playing, http: aiohttp.ClientSession
) -> None:
    evil = "<script>alert(1)</script><img src=https://evil.example/x onerror=alert(1)>"
    draft = Draft(sender=ADA.sender, to=[ADA.address], subject=evil, text=evil, html=evil)
    await play.mail.server.deliver(draft.raw(), ADA.address, "x@evil.example")
    (letter,) = letters(play.mail, ADA)
    for path in (f"?as=ada&letter={letter.id}", f"/raw?as=ada&id={letter.id}"):
        page = await shows(play, http, f"/playground/mail{path}", "&lt;script&gt;")
        assert "<script>alert" not in page
        assert "<img" not in page
    async with http.get(f"{play.url}/mail/page?id={letter.id}") as answer:
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("sandbox; default-src 'none'")
        assert "allow-" not in policy
    async with http.get(f"{play.url}/mail/page?id=none") as answer:
        assert answer.status == 404


async def test_letters_belong_together_by_their_ids_alone() -> None:
    server = MailServer()
    office = furnish_mail(server)

    async def bring(own: str, *named: str) -> None:
        draft = Draft(
            sender=f"Bo <{SUPPORT}>",
            to=[ADA.address],
            subject="Hello",
            text=own,
            message_id=f"<{own}@x.example>",
            references=[f"<{one}@x.example>" for one in named],
        )
        await server.deliver(draft.raw(), ADA.address, SUPPORT)

    for own, *named in (("a",), ("b",), ("c", "a"), ("d", "gone"), ("e", "gone"), ("f", "b", "c")):
        await bring(own, *named)
    found = [sorted(one.new for one in t.letters) for t in threads(letters(office, ADA))]
    assert sorted(found) == [["a", "b", "c", "f"], ["d", "e"]]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("EMAIL_IMAP_URL", "imaps://ada:secret@mail.cust.example"),
        ("EMAIL_SMTP_URL", "smtps://ada:secret@mail.cust.example"),
        ("EMAIL_POSTMARK_LOGIN", "hook:0123456789abcdef0123456789abcdef"),
    ],
)
async def test_it_doesnt_run_beside_a_real_mailbox(tmp_path: Path, name: str, value: str) -> None:
    settings = Settings.load({"GATEWAY_STATE": str(tmp_path), name: value}, toml_path=None)
    with pytest.raises(ConfigError, match=name):
        async with open_playground(settings):
            pass


def test_its_key_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    made = own_key(tmp_path)
    assert own_key(tmp_path) == made
    assert len(made) == 64
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    (tmp_path / FILE).unlink()
    (tmp_path / FILE).mkdir()
    with pytest.raises(ConfigError, match="can't be kept"):
        own_key(tmp_path)
