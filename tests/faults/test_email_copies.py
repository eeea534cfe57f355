"""One mail that comes more than once is one turn, and two that look alike are two; servers that go away and
mailboxes that are renumbered change nothing about that."""

from __future__ import annotations

import asyncio
import base64
import os
import re
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import cast

import pytest

from channels.email.emulator.faults import Fault
from channels.email.emulator.letters import Draft
from channels.email.mail import Mail
from channels.email.mime.read import read
from channels.email.threads.contents import content_id
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.kinds import JsonObject
from gateway.engine.ledger import Asked, Known, Ledger
from gateway.engine.ports import SessionStore
from gateway.testing.crash import Crash, CrashingStore
from tests.faults.mail_stage import (
    HOOK,
    JOURNEYS,
    MailStage,
    beside,
    mail,
    question,
    serving,
    staged,
)
from tests.support.mail.office import ADA, SUPPORT

PLUS = "support+anything@shop.example"


@pytest.fixture
async def on(tmp_path: Path) -> AsyncGenerator[MailStage]:
    async with staged(tmp_path) as stage:
        yield stage


async def hooked(on: MailStage, raw: bytes, name: str) -> int:
    """A provider hands it over, too."""
    assert on.client is not None
    login = base64.b64encode(HOOK.encode()).decode()
    handed: JsonObject = {"MessageID": name, "OriginalRecipient": SUPPORT, "RawEmail": raw.decode()}
    answer = await on.client.post(
        "/channels/email/postmark", handed, {"Authorization": f"Basic {login}"}
    )
    return answer.status


async def turns(on: MailStage) -> int:
    return len(await on.host.runtime.store.list_turns(limit=50))


async def answered(on: MailStage, *mails: bytes) -> None:
    async def all_rest() -> bool:
        return all([await on.rests(raw) for raw in mails])

    await on.until(all_rest)


async def answered_once(on: MailStage, raw: bytes) -> None:
    await answered(on, raw)
    assert await turns(on) == 1
    assert len(on.post.journal.kept()) == 1


# -- copies of one mail ----------------------------------------------------------------------------
async def test_to_two_of_our_addresses_it_is_one_turn(on: MailStage) -> None:
    raw = Draft(sender=ADA, to=[SUPPORT, PLUS], subject="Kettle", text="Where is 1042?").raw()
    await on.deliver(raw, PLUS)
    await on.deliver(raw, SUPPORT)
    await answered_once(on, raw)
    assert len(on.post.mails(SUPPORT, "Processed")) == 2


async def test_by_webhook_and_imap_and_again_and_at_once_it_is_one_turn(on: MailStage) -> None:
    raw = mail("Where is order 1042?")
    async with asyncio.TaskGroup() as ways:
        told = [ways.create_task(hooked(on, raw, f"m{n // 2}")) for n in range(8)]
        ways.create_task(on.deliver(raw))
        ways.create_task(on.deliver(raw))
    assert {one.result() for one in told} == {200}
    await answered_once(on, raw)
    assert on.post.mails(SUPPORT, "Quarantine") == []


async def test_however_often_it_comes_later_it_is_put_away_and_no_poison(on: MailStage) -> None:
    raw = await question(on)
    for number in range(6):
        await on.deliver(raw)
        assert await hooked(on, raw, f"later-{number}") == 200
        await answered_once(on, raw)
    assert len(on.post.mails(SUPPORT, "Processed")) == 7


async def test_a_mailbox_that_is_renumbered_hands_out_the_same_mail_again(on: MailStage) -> None:
    refused = on.post.faults.add(Fault("refuse", "imap:MOVE", count=None))
    raw = mail("Where is order 1042?")
    await on.deliver(raw)

    async def stuck() -> bool:
        return refused.struck > 0 and bool(await on.rows(raw))

    await on.until(stuck)
    on.post.renew(SUPPORT)

    async def again() -> bool:
        return refused.struck > 1

    await on.until(again)
    on.post.faults.repair()
    await answered_once(on, raw)


# -- two mails that look alike ---------------------------------------------------------------------
@pytest.mark.parametrize("message_id", ["", "<same@cust.example>"])
async def test_two_mails_with_one_message_id_or_none_are_two_turns(
    on: MailStage, message_id: str
) -> None:
    mails = [_plain(message_id, f"Where is order {number}?") for number in (1042, 1043)]
    for raw in mails:
        await on.deliver(raw)
    await answered(on, *mails)
    assert await turns(on) == 2
    kept = on.post.journal.kept()
    assert len({one.message_id for one in kept}) == 2
    for one in kept:  # also what answers a mail without an id says that it answers one
        assert b"\r\nSubject: Re: Kettle\r\n" in one.raw
        assert b"\r\nAuto-Submitted: auto-replied\r\n" in one.raw


def _plain(message_id: str, text: str) -> bytes:
    raw = Draft(sender=ADA, to=[SUPPORT], subject="Kettle", text=text, message_id="<x@y>").raw()
    field = f"Message-ID: {message_id}\r\n".encode() if message_id else b""
    assert raw.count(b"Message-ID: <x@y>\r\n") == 1
    return raw.replace(b"Message-ID: <x@y>\r\n", field)


async def test_what_is_said_in_a_conversation_is_read_in_its_order(on: MailStage) -> None:
    first = Draft(sender=ADA, to=[SUPPORT], subject="Kettle", text="Where is order 1042?").raw()
    await on.deliver(first)
    await answered(on, first)
    (letter,) = on.post.journal.kept()
    mails = [
        Draft(
            sender=ADA,
            to=[SUPPORT],
            subject="Re: Kettle",
            text=f"And where is order {number}?",
            in_reply_to=letter.message_id,
            references=[letter.message_id],
        ).raw()
        for number in (1043, 1044, 1045)
    ]
    for raw in mails:
        await on.deliver(raw)
    await answered(on, first, *mails)
    (key,) = {one.ref.key for one in await on.host.runtime.store.list_turns(limit=50)}
    transcript = await on.host.runtime.session("june", key).transcript()
    said = [str(one.blocks) for one in transcript if one.role == "user"]
    asked = [number for one in said for number in re.findall(r"order (\d+)\?", one)]
    assert asked == ["1042", "1043", "1044", "1045"]


# -- servers that go away --------------------------------------------------------------------------
@pytest.mark.parametrize("name", JOURNEYS)
async def test_a_mail_server_that_is_restarted_all_the_time(on: MailStage, name: str) -> None:
    steps = 0

    def counted(_: str) -> None:
        nonlocal steps
        steps += 1
        if steps % 11 == 0:
            on.post.cut()

    async def restarted() -> None:
        nonlocal steps
        if steps > 20 and steps < 10_000:
            steps = 10_000
            await on.post.stop()
            await on.post.start()

    on.steps.told.append(counted)
    raw = await JOURNEYS[name](on, restarted)
    on.steps.told.clear()
    found = await on.outcome(raw, 0)
    assert len(set(found.arrived)) == len(found.letters) == (1 if name == "question" else 2)


# -- the one moment of which nobody can tell -----------------------------------------------------------
async def test_twice_without_a_word_it_is_a_dead_letter_and_its_bytes_stay(on: MailStage) -> None:
    on.post.faults.add(Fault("cut_after", "smtp:END", count=2))
    raw = mail("Where is order 1042?")
    await on.deliver(raw)

    async def dead() -> bool:
        return any(row.state == "dead" for row in await on.rows(raw))

    await on.until(dead)
    (row,) = await on.rows(raw)
    assert row.error is not None
    assert row.error.startswith("cant_tell: ")
    await on.revive("cant_tell")
    await answered(on, raw)
    sent = on.post.journal.handed
    assert len(sent) == 3
    assert len({(one.message_id, one.sha256) for one in sent}) == 1
    assert await turns(on) == 1


# -- poison ----------------------------------------------------------------------------------------
def poisonous(raw: bytes) -> Mail:
    """Reads like ``read``, but for two mails."""
    if b"X-Poison: raises" in raw:
        raise RecursionError
    if b"X-Poison: ends the process" in raw:
        raise Crash("reading")
    return read(raw)


async def test_a_mail_whose_reading_raises_or_ends_the_process_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("channels.email.mailroom.read", poisonous)
    raising, ending = (_poison(how) for how in ("raises", "ends the process"))
    behind = mail("Where is order 1042?")
    async with beside(tmp_path) as on:
        for raw in (raising, ending, behind):
            await on.deliver(raw)
        for _ in range(3):
            on.steps.met.clear()
            async with serving(on):
                await on.until(lambda: _read(on, 1 + (len(on.post.mails(SUPPORT)) == 3)))
                await asyncio.sleep(0.05)
            on.post.cut()
            assert len(on.post.mails(SUPPORT, "Quarantine")) == 1
        async with serving(on):
            await answered(on, behind)
            found = await on.ledger.verdicts(source="email", limit=9)
            told = {one.rule: one.verdict for one in found}
            assert told.items() >= {
                ("unreadable-mail", "unsupported"),
                ("poison-mail", "unsupported"),
            }
            assert await turns(on) == 1
        assert len(on.post.mails(SUPPORT, "Quarantine")) == 2


class Failing:
    """A ledger that can't be read about mails from one moment on, so many times."""

    def __init__(self, inner: Ledger, error: Callable[[Asked], Exception | None]) -> None:
        self._inner = inner
        self._error = error

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    async def known(self, ask: Asked) -> Known:
        if (error := self._error(ask)) is not None:
            raise error
        return await self._inner.known(ask)


def failing(error: Callable[[Asked], Exception | None]) -> Callable[[SessionStore], SessionStore]:
    def wrap(inner: SessionStore) -> SessionStore:
        store = CrashingStore(inner)
        store.ledger = cast("Ledger", Failing(inner.ledger, error))
        return store

    return wrap


async def test_a_store_that_comes_and_goes_makes_no_poison(tmp_path: Path) -> None:
    failed = 0

    def error(_: Asked) -> Exception | None:
        nonlocal failed
        failed += 1
        return StoreUnavailableError("away") if failed <= 4 else None

    async with beside(tmp_path) as on, serving(on, failing(error)):
        raw = mail("Where is order 1042?")
        await on.deliver(raw)

        async def hastened() -> bool:
            on.time.skip(0.5)
            return await on.rests(raw)

        await on.until(hastened)
        assert failed > 4
        await answered_once(on, raw)
        assert len(on.post.mails(SUPPORT, "Processed")) == 1


async def test_a_mail_over_which_something_breaks_is_put_aside_after_three_tries(
    tmp_path: Path,
) -> None:
    broken, behind = mail("Break"), mail("Where is order 1042?")
    event = f"mail-{content_id(broken)}"
    tries: list[Asked] = []

    def error(asked: Asked) -> Exception | None:
        if asked.event_id != event:
            return None
        tries.append(asked)
        return ValueError("unfit")

    async with beside(tmp_path) as on, serving(on, failing(error)):
        await on.deliver(broken)
        await on.deliver(behind)
        await answered(on, behind)
        (told,) = await on.ledger.verdicts(source="email", event=event)
        assert (told.verdict, told.rule, len(tries)) == ("unsupported", "unreadable-mail", 3)
        assert len(on.post.mails(SUPPORT, "Quarantine")) == 1


async def _read(on: MailStage, times: int) -> bool:
    return on.steps.met.count("imap:FETCH") >= 2 * times


def _poison(how: str) -> bytes:
    draft = Draft(
        sender=ADA, to=[SUPPORT], subject="Poison", text=os.urandom(8).hex(), more={"X-Poison": how}
    )
    return draft.raw()
