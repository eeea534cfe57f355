"""A mailbox on a real server: what comes is taken once and in order, whatever happens to the wire."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from imapclient import IMAPClient  # type: ignore[import-untyped]
from typing_extensions import override

from channels.email.mail import RawMail
from channels.email.ways.imap import PROCESSED, QUARANTINE, Pace
from channels.email.ways.taking import MAX_MAIL, Taken
from tests.support.mail.dovecot import PASSWORD, Dovecot, dovecot, needs_dovecot
from tests.unit.email.ways.relay import Cut, certified, relay
from tests.unit.email.ways.taker import QUICK, Taker, box_account, letter, looked_after, until

pytestmark = [pytest.mark.mail, needs_dovecot]

US = "support@shop.example"
PATIENT = Pace(glance=5, renew=60, answer=5)
"""As in earnest: what comes here, comes because the server said so."""


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Dovecot]:
    async with dovecot(tmp_path) as found:
        yield found


def names(box: Dovecot, mailbox: str) -> list[str]:
    return sorted(
        raw.partition(b"Subject: ")[2].split(b"\n")[0].strip().decode()
        for raw in box.mails(US, mailbox)
    )


async def test_mail_that_waited_and_mail_that_comes_are_taken_in_order_and_moved(
    box: Dovecot,
) -> None:
    take = Taker(lambda name, _times: "quarantine" if name == "odd" else "done")
    for name in ("one", "odd", "three"):
        await box.deliver(letter(name), US)
    async with looked_after(box_account(box), take, PATIENT) as mailbox:
        await until(lambda: len(names(box, PROCESSED)) == 2)
        assert mailbox.problem is None
        assert mailbox.heard_at is not None
        await box.deliver(letter("four"), US)
        await until(lambda: len(names(box, PROCESSED)) == 3)
    assert take.names == ["one", "odd", "three", "four"]
    assert names(box, QUARANTINE) == ["odd"]
    assert box.mails(US) == []
    assert mailbox.counted == {"done": 3, "quarantine": 1}
    first, second = take.mails[0], take.mails[1]
    assert first.raw.endswith(letter("one"))
    account, folder, validity, uid = first.way_id.rsplit("/", 3)
    assert (account, folder, uid) == ("support@shop.example@127.0.0.1", "INBOX", "1")
    assert second.way_id == f"{account}/INBOX/{validity}/2"
    assert first.way == "imap"
    assert first.whole is None


@pytest.mark.slow
async def test_nothing_is_marked_seen(box: Dovecot) -> None:
    await box.deliver(letter("one"), US)
    async with looked_after(box_account(box), Taker()):
        await until(lambda: names(box, PROCESSED) == ["one"])

    def flags() -> object:
        with IMAPClient(box.host, port=box.imap_port, ssl=False, timeout=5) as client:
            client.login(box.user, box.password)
            client.select_folder(PROCESSED)
            return client.fetch([1], ["FLAGS"])[1][b"FLAGS"]

    found = await asyncio.to_thread(flags)
    assert isinstance(found, tuple)
    assert b"\\Seen" not in found


@pytest.mark.parametrize("how", ["fin", "bye", pytest.param("rst", marks=pytest.mark.slow)])
async def test_a_cut_while_waiting_is_noticed_and_mended(box: Dovecot, how: Cut) -> None:
    take = Taker()
    async with (
        relay(box.imap_port) as wire,
        looked_after(box_account(box, wire.port), take) as mailbox,
    ):
        await until(lambda: b"IDLE" in wire.said)
        wire.cut(how)
        await box.deliver(letter("after"), US)
        await until(lambda: names(box, PROCESSED) == ["after"])
        assert mailbox.problem is None
        assert mailbox.connects >= 2


async def test_over_tls_mail_comes_and_a_cut_is_noticed(box: Dovecot, tmp_path: Path) -> None:
    server, believes = certified(tmp_path)
    take = Taker()
    async with relay(box.imap_port, server) as wire:
        account = replace(box_account(box, wire.port), tls=True)
        async with looked_after(account, take, PATIENT, believes) as mailbox:
            await until(lambda: b"IDLE" in wire.said)
            await box.deliver(letter("one"), US)
            await until(lambda: names(box, PROCESSED) == ["one"])
            wire.cut("fin")
            await box.deliver(letter("two"), US)
            await until(lambda: names(box, PROCESSED) == ["one", "two"])
            assert mailbox.connects == 2
        async with looked_after(account, take) as mailbox:
            await until(lambda: "can't be believed" in (mailbox.problem or ""))
            assert mailbox.connects == 0


async def test_a_wire_that_lets_nothing_through_is_given_up(box: Dovecot) -> None:
    take = Taker()
    async with relay(box.imap_port) as wire:
        pace = replace(QUICK, answer=0.5)
        async with looked_after(box_account(box, wire.port), take, pace) as mailbox:
            await until(lambda: b"IDLE" in wire.said)
            wire.darken()
            await box.deliver(letter("after"), US)
            await until(lambda: mailbox.problem is not None)
            await until(lambda: names(box, PROCESSED) == ["after"])
    assert take.names == ["after"]


STEPS = [b"SEARCH", b"BODY.PEEK", b"MOVE"]
RARE = [b"LOGIN", b"CREATE", b"SELECT", b"RFC822.SIZE", b"IDLE", b"DONE", b"NOOP"]


@pytest.mark.parametrize("at", [*STEPS, *(pytest.param(at, marks=pytest.mark.slow) for at in RARE)])
async def test_a_cut_at_any_step_loses_and_doubles_nothing(box: Dovecot, at: bytes) -> None:
    take = Taker()
    await box.deliver(letter("one"), US)
    await box.deliver(letter("two"), US)
    async with relay(box.imap_port) as wire:
        wire.trip = (at, "rst")
        async with looked_after(box_account(box, wire.port), take):
            await until(lambda: wire.trip is None and names(box, PROCESSED) == ["one", "two"])
    assert take.names == ["one", "two"]


@pytest.mark.slow
async def test_the_server_goes_away_for_a_while(box: Dovecot) -> None:
    take = Taker()
    async with looked_after(box_account(box), take) as mailbox:
        await until(lambda: mailbox.heard_at is not None)
        await box.stop()
        await until(lambda: mailbox.problem is not None and "reached" in mailbox.problem)
        await box.start()
        await box.deliver(letter("one"), US)
        await until(lambda: names(box, PROCESSED) == ["one"])
    assert take.names == ["one"]


async def test_uids_that_begin_anew_hide_no_mail(box: Dovecot) -> None:
    """The new mail has the number of one that was put off under the old count."""
    take = Taker(lambda name, times: "again" if name == "slow" and times == 1 else "done")
    async with looked_after(box_account(box), take, replace(QUICK, again=60)):
        await box.deliver(letter("slow"), US)
        await until(lambda: take.names == ["slow"])
        await box.renew(US)
        await box.deliver(letter("new"), US)
        await until(lambda: names(box, PROCESSED) == ["new", "slow"])
    assert sorted(take.names) == ["new", "slow", "slow"]
    before, after, last = (mail.way_id.rsplit("/", 2)[1] for mail in take.mails)
    assert before != after == last


async def test_a_mail_that_cant_be_kept_holds_up_nobody(box: Dovecot) -> None:
    def say(name: str, times: int) -> Taken:
        if name == "poison" and times == 2:
            raise ValueError("not foreseen")
        return "again" if name == "poison" and times < 4 else "done"

    take = Taker(say)
    for name in ("poison", "two", "three"):
        await box.deliver(letter(name), US)
    async with looked_after(box_account(box), take):
        await until(lambda: names(box, PROCESSED) == ["poison", "three", "two"])
    assert take.names[:3] == ["poison", "two", "three"]
    assert take.names.count("poison") == 4


async def test_while_the_store_is_away_all_wait_in_order(box: Dovecot) -> None:
    take = Taker()
    take.away = True
    for name in ("one", "two", "three"):
        await box.deliver(letter(name), US)
    async with looked_after(box_account(box), take) as mailbox:
        await until(lambda: mailbox.connects == 1)
        await asyncio.sleep(0.2)
        take.away = False
        await until(lambda: len(names(box, PROCESSED)) == 3)
    assert take.names == ["one", "two", "three"]


async def test_a_mail_that_somebody_took_meanwhile_is_no_error(box: Dovecot) -> None:
    async def snatch() -> None:
        def gone() -> None:
            with IMAPClient(box.host, port=box.imap_port, ssl=False, timeout=5) as client:
                client.login(box.user, box.password)
                client.select_folder("INBOX")
                client.delete_messages([1])
                client.expunge()

        await asyncio.to_thread(gone)

    class Slow(Taker):
        @override
        async def __call__(self, mail: RawMail) -> Taken:
            if not self.mails:
                await snatch()
            return await super().__call__(mail)

    take = Slow()
    await box.deliver(letter("one"), US)
    await box.deliver(letter("two"), US)
    async with looked_after(box_account(box), take) as mailbox:
        await until(lambda: names(box, PROCESSED) == ["two"])
        assert mailbox.problem is None
    assert take.names == ["one", "two"]


@pytest.mark.slow
async def test_a_folder_that_vanished_is_made_again(box: Dovecot) -> None:
    def drop() -> None:
        with IMAPClient(box.host, port=box.imap_port, ssl=False, timeout=5) as client:
            client.login(box.user, box.password)
            client.delete_folder(PROCESSED)

    async with looked_after(box_account(box), Taker()) as mailbox:
        await until(lambda: mailbox.heard_at is not None and mailbox.connects == 1)
        await asyncio.to_thread(drop)
        await box.deliver(letter("one"), US)
        await until(lambda: names(box, PROCESSED) == ["one"])


@pytest.mark.slow
async def test_of_a_mail_that_is_too_long_only_the_header_comes(box: Dovecot) -> None:
    line = "x" * 998 + "\r\n"
    take = Taker(lambda _name, _times: "quarantine")
    await box.deliver(letter("long", line * (MAX_MAIL // len(line) + 1)), US)
    async with relay(box.imap_port) as wire:
        async with looked_after(box_account(box, wire.port), take):
            await until(lambda: names(box, QUARANTINE) == ["long"])
        assert b"BODY.PEEK[]" not in wire.said
    mail = take.mails[0]
    assert mail.whole is not None
    assert mail.whole > MAX_MAIL
    assert mail.raw.endswith(b"<long@example.com>\r\n\r\n")


@pytest.mark.parametrize(
    ("password", "folder", "words"),
    [
        (PASSWORD, "Nowhere", "the mailbox Nowhere can't be opened"),
        pytest.param(
            "wrong",
            "INBOX",
            "refuses the password of support@shop.example on 127.0.0.1",
            marks=pytest.mark.slow,
        ),
    ],
)
async def test_what_is_wrong_is_told_in_words(
    box: Dovecot, password: str, folder: str, words: str
) -> None:
    account = box_account(box, password=password, folder=folder)
    async with looked_after(account, Taker()) as mailbox:
        await until(lambda: mailbox.problem is not None)
        assert words in (mailbox.problem or "")
        assert "wrong" not in (mailbox.problem or "")


async def test_cancelled_at_any_time_it_ends_with_its_thread(box: Dovecot) -> None:
    def ours() -> int:
        return sum(one.name.startswith("email-imap") for one in threading.enumerate())

    for pause in (0.0, 0.002, 0.01, 0.1):
        async with looked_after(box_account(box), Taker(), PATIENT):
            await asyncio.sleep(pause)
    await until(lambda: ours() == 0)
