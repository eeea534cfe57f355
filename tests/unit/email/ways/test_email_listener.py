"""The port for the site's own mail server: a mail is acknowledged once it is kept."""

from __future__ import annotations

import asyncio
import contextlib
import smtplib
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

import pytest

from channels.email.mail import RawMail
from channels.email.ways.listener import Listener, ours
from channels.email.ways.taking import MAX_MAIL, Take, Taken
from gateway.engine.errors import ConfigError
from gateway.engine.limits import SYSTEM_CLOCK
from tests.unit.email.ways.taker import Taker, letter, subject

T = TypeVar("T")
OURS = frozenset({"support@shop.example", "sales@shop.example"})


@contextlib.asynccontextmanager
async def listening(take: Take, scheme: str = "lmtp") -> AsyncIterator[Listener]:
    listener = Listener(f"{scheme}://127.0.0.1:0", OURS, take, clock=SYSTEM_CLOCK)
    await listener.start()
    try:
        yield listener
    finally:
        await listener.stop()


async def talk(listener: Listener, say: Callable[[smtplib.SMTP], T]) -> T:
    def run() -> T:
        kind = smtplib.LMTP if listener._lmtp else smtplib.SMTP
        with kind("127.0.0.1", listener.port, "mx.shop.example", timeout=10) as line:
            return say(line)

    return await asyncio.to_thread(run)


@pytest.mark.parametrize("scheme", ["lmtp", "smtp"])
async def test_one_mail_for_several_of_us_is_one_mail(scheme: str) -> None:
    take = Taker()
    to = ["Support+Tok.abc@Shop.example", "sales@shop.example"]
    raw = letter("one", "a line\r\n.with a dot\r\n" + "x" * 200_000 + "\r\ngr\xfc\xdfe")
    async with listening(take, scheme) as listener:

        def hand_over(line: smtplib.SMTP) -> dict[str, tuple[int, bytes]]:
            refused = line.sendmail("ada@example.com", [*to, "x@elsewhere.example"], raw)
            if scheme == "lmtp":  # smtplib reads one answer of two
                assert line.getreply()[0] == 250
            return refused

        refused = await talk(listener, hand_over)
    assert list(refused) == ["x@elsewhere.example"]
    assert refused["x@elsewhere.example"][0] == 550
    (mail,) = take.mails
    assert mail.raw == raw
    assert mail.way == scheme
    assert mail.envelope_from == "ada@example.com"
    assert mail.envelope_to == tuple(to)


async def test_the_empty_return_path_is_kept() -> None:
    take = Taker()
    async with listening(take) as listener:
        await talk(listener, lambda line: line.sendmail("", ["support@shop.example"], letter("a")))
    assert take.mails[0].envelope_from == ""


def ends(line: smtplib.SMTP, raw: bytes, *to: str) -> list[bytes]:
    """What is said at the end of a mail, line by line."""
    line.ehlo_or_helo_if_needed()
    line.docmd("MAIL", "FROM:<ada@example.com>")
    for one in to:
        line.docmd("RCPT", f"TO:<{one}>")
    assert line.docmd("DATA")[0] == 354
    line.send(raw + b"\r\n.\r\n")
    line.send(b"NOOP\r\n")
    found: list[bytes] = []
    while True:
        code, words = line.getreply()
        if code == 250 and words.startswith(b"OK"):
            return found
        found.append(b"%d" % code)


@pytest.mark.parametrize(
    ("raw", "answer"),
    [
        (letter("kept"), b"250"),
        (letter("odd"), b"250"),
        (letter("later"), b"451"),
        (letter("bug"), b"451"),
        pytest.param(
            b"x" * 900 + (b"\r\n" + b"y" * 998) * (MAX_MAIL // 1000 + 1),
            b"552",
            marks=pytest.mark.slow,
        ),
        (b"z" * (3 << 20), b"500"),
    ],
    ids=["done", "quarantine", "again", "raises", "too long", "a line too long"],
)
async def test_lmtp_answers_for_each_recipient(raw: bytes, answer: bytes) -> None:
    says: dict[str, Taken] = {"odd": "quarantine", "later": "again"}

    def say(name: str, _times: int) -> Taken:
        if name == "bug":
            raise ValueError("not foreseen")
        return says.get(name, "done")

    async with listening(Taker(say)) as listener:
        said = await talk(
            listener, lambda line: ends(line, raw, "support@shop.example", "sales@shop.example")
        )
    assert said == [answer, answer]


NO_ENDS = (b"\n.\n", b"\n.\r\n", b"\r.\r", b"\r\n.\n", b"\r\n.\r", b"\r.\r\n", b"\r\n\0.\r\n")
SECOND = b"MAIL FROM:<x@evil.example>\r\nRCPT TO:<sales@shop.example>\r\nDATA\r\n" + letter("two")


async def test_what_only_looks_like_the_end_of_a_mail_begins_no_second_one() -> None:
    """SMTP smuggling: text for the server that handed it over."""
    take = Taker()

    def smuggle(line: smtplib.SMTP) -> None:
        for end in NO_ENDS:
            raw = letter("one") + end + SECOND
            assert ends(line, raw, "support@shop.example") == [b"250"], end

    async with listening(take) as listener:
        await talk(listener, smuggle)
    assert [(mail.envelope_from, subject(mail.raw)) for mail in take.mails] == [
        ("ada@example.com", "one")
    ] * len(NO_ENDS)
    assert all(mail.raw.endswith(letter("two") + b"\r\n") for mail in take.mails)


async def test_while_the_store_is_away_it_is_to_come_again() -> None:
    take = Taker()
    take.away = True
    async with listening(take) as listener:
        assert await talk(listener, lambda line: ends(line, letter("a"), *OURS)) == [b"451"] * 2


async def test_a_size_that_is_announced_is_refused_at_once() -> None:
    async with listening(Taker()) as listener:

        def announce(line: smtplib.SMTP) -> int:
            line.ehlo()
            return line.docmd("MAIL", f"FROM:<ada@example.com> SIZE={MAX_MAIL + 1}")[0]

        assert await talk(listener, announce) == 552


async def test_who_hangs_up_stops_no_keeping_and_stopping_waits_for_it() -> None:
    began, go, kept = asyncio.Event(), asyncio.Event(), list[RawMail]()

    async def take(mail: RawMail) -> Taken:
        began.set()
        await go.wait()
        kept.append(mail)
        return "done"

    async with listening(take) as listener:
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        for said in ("LHLO x", "MAIL FROM:<a@b.example>", "RCPT TO:<sales@shop.example>", "DATA"):
            writer.write(said.encode() + b"\r\n")
        writer.write(letter("one") + b".\r\n")
        await began.wait()
        writer.transport.abort()
        await reader.read()
        go.set()
    assert [mail.raw for mail in kept] == [letter("one")]


async def test_stopping_ends_whoever_says_nothing() -> None:
    async with listening(Taker()) as listener:
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        assert (await reader.readline()).startswith(b"220")
    with contextlib.suppress(ConnectionResetError):
        assert await reader.read() == b""
    writer.close()


NOWHERE = (
    ("lmtp://0.0.0.0:2400", "reachable from elsewhere"),
    ("smtp://mail.shop.example:25", "reachable from elsewhere"),
    ("lmtp://127.0.0.1", "a port"),
    ("http://127.0.0.1:2400", "lmtp://"),
    ("lmtp://127.0.0.1:x", "no URL"),
)


def test_where_it_may_not_listen() -> None:
    for url, words in NOWHERE:
        with pytest.raises(ConfigError, match=words):
            Listener(url, OURS, Taker(), clock=SYSTEM_CLOCK)


async def test_a_port_that_is_taken_is_told() -> None:
    async with listening(Taker()) as listener:
        second = Listener(f"lmtp://127.0.0.1:{listener.port}", OURS, Taker(), clock=SYSTEM_CLOCK)
        with pytest.raises(ConfigError, match="can't be listened on"):
            await second.start()


ADDRESSES = (
    ("SUPPORT@shop.example", True),
    ("support+a+b@shop.example", True),
    ("supportx@shop.example", False),
    ("+support@shop.example", False),
    ("support@shop.example.evil.example", False),
    ("support", False),
    ("", False),
)


def test_whose_address_it_is() -> None:
    for address, is_ours in ADDRESSES:
        assert ours(address, OURS) is is_ours, address
