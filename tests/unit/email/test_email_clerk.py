"""What an operator's clerk reads out of mail that was kept: as of when it came, and without a channel at work."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator
from typing import cast

import pytest

from channels.contract import Clerk
from channels.email import email_channel, mailroom
from channels.email.answering.target import read_target
from channels.email.emulator.border import Border, Passage, stamped
from channels.email.mail import Mail, RawMail
from channels.email.parse import event_id
from channels.email.threads.book import Book
from channels.email.threads.contents import content_id
from channels.email.threads.shelf import Shelf
from channels.email.writing.tokens import Keys, conversation_id, reply_to
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Ledger
from gateway.engine.limits import SYSTEM_CLOCK
from gateway.stores import open_store
from tests.support.mail.office import ADA, SUPPORT, question

DAY = 86_400_000
KEYS = Keys([b"a-key-for-tests-only-and-nothing-else"])
LISTENS = {
    "EMAIL_ADDRESS": SUPPORT,
    "EMAIL_LISTEN": "lmtp://127.0.0.1:2400",
    "EMAIL_SMTP_URL": "smtp://127.0.0.1:2500",
    "EMAIL_BORDER_HOST": "mx.shop.example",
    "EMAIL_AUTHSERV_ID": "mx.shop.example",
    "GATEWAY_SECRET_KEYS": "a-key-for-tests-only-and-nothing-else",
}


@pytest.fixture
async def ledger() -> AsyncGenerator[Ledger]:
    store = open_store("memory://")
    await store.open()
    yield store.ledger
    await store.close()


@pytest.fixture
def clerk(ledger: Ledger) -> Clerk:
    """Of a channel that was never started."""
    return email_channel(LISTENS).clerk(ledger, SYSTEM_CLOCK)


async def keep(ledger: Ledger, *, days: int = 0, to: str = SUPPORT) -> str:
    """A mail that came so many days ago; its event."""
    at = Millis(SYSTEM_CLOCK.now() - days * DAY)
    passage = Passage(
        sender=ADA, recipient=to, dmarc="pass", client="out.cust.example", number=1, at=at
    )
    raw = stamped(question(to=[to], date=at).raw(), Border(), passage)
    content = content_id(raw)
    await Shelf(ledger, SYSTEM_CLOCK).keep(content, RawMail(raw=raw, way="imap", at=at))
    return event_id(content)


async def test_what_waited_for_a_week_is_judged_as_when_it_came(
    ledger: Ledger, clerk: Clerk
) -> None:
    event = await keep(ledger, days=7)
    found = await clerk.read(event)
    assert found is not None
    assert (found["level"], found["address"], found["subject"]) == ("domain", ADA, "My kettle")
    admitted = await clerk.admitted(event)
    assert admitted is not None
    assert (admitted.speaker.level, admitted.doubt, admitted.budgets) == ("domain", "", ())


async def test_looking_changes_nothing_and_says_what_would_be_judged(
    ledger: Ledger, clerk: Clerk
) -> None:
    event = await keep(ledger, to="sales@shop.example")
    found = await clerk.replay(event)
    assert found is not None
    assert (found["verdict"], found["level"]) == ("accepted", "none")
    assert [word for word, _ in cast("list[list[str]]", found["reasons"])] == ["not_named"]
    assert await ledger.verdicts() == []
    assert await clerk.conversation(str(found["conversation"])) is None


async def test_who_lets_a_mail_in_has_it_answered_behind_a_colleagues_back(
    ledger: Ledger, clerk: Clerk
) -> None:
    """And nothing after the colleague has spoken once more."""
    book = Book(ledger, SUPPORT, SYSTEM_CLOCK)
    conversation = conversation_id(KEYS, "a first mail")
    await book.add(conversation, "s", ADA)
    event = await keep(ledger, to=reply_to(KEYS, SUPPORT, conversation, ADA))
    for times in (1, 2):
        await book.take_over(conversation, "email:lead@shop.example")
        admitted = await clerk.admitted(event)
        assert admitted is not None
        target = read_target(admitted.target, KEYS, opening="")
        assert target is not None
        assert await book.speaks(conversation, None) == "email:lead@shop.example"
        assert (target.despite, await book.speaks(conversation, target.despite)) == (times, "")
        assert await book.speaks(conversation, times - 1) == "email:lead@shop.example"
    assert await clerk.hand_back(conversation) is not None
    assert await book.speaks(conversation, None) == ""


async def test_what_is_never_read_to_its_end_isnt_let_in_and_holds_nobody(
    ledger: Ledger, clerk: Clerk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(_: bytes) -> Mail:
        while True:
            time.sleep(0.001)

    event = await keep(ledger)
    monkeypatch.setattr(mailroom, "read", endless)
    monkeypatch.setattr("channels.email.clerk.PATIENCE", 0.1)
    async with asyncio.timeout(10):
        assert await clerk.admitted(event) is None
        while any(one.name == "email-read" for one in threading.enumerate()):
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("event", ["", "mail-", "mail-0000", "mail-../x", "Ev1"])
async def test_what_is_no_mail_is_none(clerk: Clerk, event: str) -> None:
    assert await clerk.read(event) is None
    assert await clerk.raw(event) is None
    assert await clerk.admitted(event) is None
