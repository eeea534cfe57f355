"""The files of a mail are read in bounded time, whatever whoever wrote it put into them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Collection
from typing import cast

import pytest

from channels.email.answering import attached as answering
from channels.email.answering.attached import attached
from channels.email.emulator.letters import File
from channels.email.mail import RawMail
from channels.email.mime.read import contents
from channels.email.threads.shelf import Shelf
from gateway.engine.kinds import Json, SessionRef
from gateway.engine.ledger import Ledger
from gateway.engine.limits import SYSTEM_CLOCK, Clock
from gateway.engine.messages import Text
from gateway.engine.ports import Preparing
from gateway.stores import open_store
from tests.support.mail.office import question

MAIL = "a1"


class Books:
    clock: Clock = SYSTEM_CLOCK

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger


@pytest.fixture
async def books() -> AsyncGenerator[Books]:
    store = open_store("memory://")
    await store.open()
    yield Books(store.ledger)
    await store.close()


async def asked(books: Books) -> Preparing:
    files = [File(f"{name}.txt", "text/plain", name.encode()) for name in ("one", "two")]
    handed = RawMail(raw=question(files=files).raw(), way="lmtp", at=SYSTEM_CLOCK.now())
    await Shelf(books.ledger, SYSTEM_CLOCK).keep(MAIL, handed)
    given: list[Json] = [
        ["2", "one.txt", "text/plain", 4, ""],
        ["3", "two.txt", "text/plain", 4, ""],
        ["9", "three.txt", "text/plain", 4, ""],
        ["4", "four.txt", "text/plain", 11 << 20, ""],
    ]
    ref = SessionRef("june", "email:x")
    return Preparing(
        ref=ref, turn_id="t", event={}, fetch={"content": MAIL, "files": given}, first=True
    )


async def told(books: Books) -> str:
    found = await attached(await asked(books), books)
    return "\n".join(cast("Text", one).text for one in found.before)


async def test_the_mail_is_taken_apart_once_for_all_of_its_files(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Collection[str]] = []

    def counted(raw: bytes, paths: Collection[str]) -> dict[str, bytes]:
        read.append(paths)
        return contents(raw, paths)

    monkeypatch.setattr(answering, "contents", counted)
    said = await told(books)
    assert read == [["2", "3", "9"]]
    assert "\none\n" in said
    assert "\ntwo\n" in said
    assert "[The file three.txt could not be read: it isn't in the mail.]" in said
    assert "[The file four.txt could not be read: it has more than 10 MiB.]" in said


async def test_files_that_take_for_ever_are_named_and_their_thread_ends(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(_: bytes, __: Collection[str]) -> dict[str, bytes]:
        while True:
            time.sleep(0.001)

    monkeypatch.setattr(answering, "contents", endless)
    monkeypatch.setattr(answering, "PATIENCE", 0.1)
    async with asyncio.timeout(10):
        assert "[The file one.txt could not be read: that takes too long.]" in await told(books)
        while any(one.name == "email-files" for one in threading.enumerate()):
            await asyncio.sleep(0.01)
