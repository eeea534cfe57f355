"""A mail that ends the process each time, or whose reading never ends, is put aside, and none of those that were
read beside it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from channels.contract import Ignored, Parsed, Verdict
from channels.email import email_channel, mailroom
from channels.email.mail import RawMail
from channels.email.mailroom import Mailroom
from channels.email.threads.contents import content_id
from channels.email.threads.shelf import Shelf
from channels.email.ways.taking import Taken
from gateway.engine.ledger import Ledger
from gateway.engine.limits import SYSTEM_CLOCK
from gateway.stores import open_store
from tests.support.mail.office import question
from tests.unit.email.test_email_desk import ENV

POISON, LIVES = b"X-Poison", 3
Reads = Callable[..., Any]


@pytest.fixture
async def ledger() -> AsyncGenerator[Ledger]:
    store = open_store("memory://")
    await store.open()
    yield store.ledger
    await store.close()


class Life:
    """One process on the books of those before it. It dies while the poison is read; until then nothing that
    is read beside it comes to an end."""

    clock = SYSTEM_CLOCK

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.rules: list[str] = []
        self.poisoned = threading.Event()
        self.dead = threading.Event()

    async def receive(self, parsed: Parsed) -> Verdict:
        self.rules += [parsed.rule] if isinstance(parsed, Ignored) else []
        return Verdict(word="accepted", rule="direct")

    def over(self, reads: Reads) -> Reads:
        def read(raw: bytes, *more: Any) -> Any:
            if POISON in raw:
                self.poisoned.set()
            if self.poisoned.is_set():
                assert self.dead.wait(30)
            return reads(raw, *more)

        return read

    async def until_it_dies(self, mails: list[RawMail]) -> None:
        room = Mailroom(email_channel(ENV).desk, self)
        async with asyncio.TaskGroup() as all_at_once:
            takes = [all_at_once.create_task(room.take(one)) for one in mails]
            assert await asyncio.to_thread(self.poisoned.wait, 30)
            await asyncio.wait(takes, timeout=0.05)  # those behind it have had their chance
            for one in takes:
                one.cancel()
            self.dead.set()


def mail(text: str, **more: str) -> RawMail:
    draft = question(text, more=more)
    return RawMail(raw=draft.raw(), way="lmtp", at=SYSTEM_CLOCK.now())


def endless(reads: Reads) -> Reads:
    def read(raw: bytes, *more: Any) -> Any:
        while POISON in raw:
            time.sleep(0.001)
        return reads(raw, *more)

    return read


async def in_the_end(room: Mailroom, one: RawMail) -> Taken:
    """Slow once isn't endless."""
    while (taken := await room.take(one)) == "again":
        pass
    return taken


@pytest.mark.parametrize("step", ["content_id", "read", "bounce", "brought_back"])
async def test_what_never_ends_is_put_aside_over_restarts_and_its_neighbours_are_taken(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    monkeypatch.setattr(mailroom, "PATIENCE", 0.2)
    monkeypatch.setattr(mailroom, step, endless(getattr(mailroom, step)))
    poison = mail("x", **{POISON.decode(): "1"})
    for expected in ("again", "again", "quarantine", "quarantine"):
        life = Life(ledger)
        room = Mailroom(email_channel(ENV).desk, life)
        async with asyncio.TaskGroup() as all_at_once:
            taken = all_at_once.create_task(room.take(poison))
            innocent = all_at_once.create_task(in_the_end(room, mail(f"Before {expected}?")))
        assert (taken.result(), innocent.result()) == (expected, "done")
        assert life.rules == ["poison-mail"] * (expected == "quarantine")
    while any(one.name == "email-read" for one in threading.enumerate()):
        await asyncio.sleep(0.01)  # its threads end, too


@pytest.mark.parametrize("step", ["read", "bounce"])
async def test_what_ends_the_process_is_put_aside_and_not_its_neighbours(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    poison, innocent = mail("x", **{POISON.decode(): "1"}), [mail("One?"), mail("Two?")]
    reads = getattr(mailroom, step)
    shelf = Shelf(ledger, SYSTEM_CLOCK)
    for one in innocent:  # they were being read, too, when the process died for the first time
        await shelf.keep(content_id(one.raw), one)
    for _ in range(LIVES):
        life = Life(ledger)
        monkeypatch.setattr(mailroom, step, life.over(reads))
        await life.until_it_dies([poison, *innocent])
    life = Life(ledger)
    monkeypatch.setattr(mailroom, step, reads)
    room = Mailroom(email_channel(ENV).desk, life)
    taken: list[Taken] = [await room.take(one) for one in (poison, *innocent)]
    assert taken == ["quarantine", "done", "done"]
    assert life.rules == ["poison-mail"]
