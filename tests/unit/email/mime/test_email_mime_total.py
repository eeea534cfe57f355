"""``read`` is total and linear: whatever the bytes, a mail without control characters, and no more work
than twice as much for twice the size."""

from __future__ import annotations

import random
import sys
import time
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from channels.email.mail import Mail
from channels.email.mime import headers
from channels.email.mime.read import contents, read
from tests.unit.email.corpus.build import HEAD, typed
from tests.unit.email.corpus.hostile import GROWING
from tests.unit.email.corpus.mutate import mutated
from tests.unit.email.corpus.tables import CORPUS

ALL = {name: made()[0] for name, made in CORPUS.items()}
SMALL = [raw for raw in ALL.values() if len(raw) < 20_000]
PIECES = st.sampled_from(
    [
        *(
            b"Content-Type: ",
            b"multipart/mixed",
            b"multipart/alternative",
            b"message/rfc822",
            b"text/html",
        ),
        *(
            b"; boundary=b",
            b"; charset=",
            b"utf-8",
            b"iso-2022-jp",
            b"\x1b$B",
            b"name*0*=",
            b"'",
            b'"',
        ),
        *(
            b"\r\n",
            b"\n",
            b"\r",
            b"\r\n\r\n",
            b"--b",
            b"--b--",
            b"--",
            b" ",
            b"\t",
            b";",
            b":",
            b"(",
        ),
        *(
            b"Content-Transfer-Encoding: base64",
            b"quoted-printable",
            b"=?utf-8?b?",
            b"?=",
            b"=",
            b"<",
        ),
        *(
            b"<p style='",
            b"</",
            b">",
            b"<!--",
            b"<style>",
            b"{",
            b"&#x0;",
            b"\x00",
            b"\xff",
            b"\xed\xa0\x80",
        ),
        *(
            b"Subject: ",
            b"Message-ID: <",
            b"From: ",
            b"format=flowed",
            b"BEGIN:VEVENT\r\nSUMMARY:x\r\n",
        ),
    ]
)


def sound(mail: Mail) -> None:
    said = [
        *(mail.subject, mail.message_id, *mail.in_reply_to, *mail.references, mail.hidden),
        *(each for file in mail.attachments for each in (file.name, file.media_type, file.unread)),
        *(*mail.notes, *mail.decoded, mail.over),
    ]
    for each in said:
        assert not any(c < " " or "\x7f" <= c < "\xa0" for c in each.replace("\n", "")), each
    assert not any(
        (c < " " and c not in "\n\t") or "\x7f" <= c < "\xa0" or "\ud800" <= c < "\ue000"
        for c in mail.text
    )
    assert mail.quote_at is None or 0 <= mail.quote_at < len(mail.text)
    assert all("/" not in file.name and file.name for file in mail.attachments)
    assert not (mail.over and (mail.text or mail.attachments or mail.notes))


@given(st.binary(max_size=400))
@settings(max_examples=60)
def test_any_bytes_are_a_mail(raw: bytes) -> None:
    sound(read(raw))
    sound(read(HEAD + raw))


@given(st.lists(PIECES, max_size=40).map(b"".join))
@example(b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n--b")
@settings(max_examples=150)
def test_hostile_pieces_are_a_mail(raw: bytes) -> None:
    mail = read(raw)
    sound(mail)
    for file in mail.attachments:
        assert file.path in contents(raw, [file.path])


@given(st.integers(0, 2**32))
@settings(max_examples=120)
def test_a_damaged_mail_is_a_mail(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311
    sound(read(mutated(dice.choice(SMALL), dice)))


@pytest.mark.slow
@given(st.integers(0, 2**32))
@settings(max_examples=5_000)
def test_many_damaged_mails_are_mails(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311
    sound(read(mutated(dice.choice(SMALL), dice)))


@given(st.binary(max_size=200))
@settings(max_examples=60)
def test_pieces_for_others_are_total(value: bytes) -> None:
    assert not any(c < " " or "\x7f" <= c < "\xa0" for c in headers.decoded(value))
    for each in headers.ids(value):
        assert each.startswith("<")
        assert each.endswith(">")
        assert each.isprintable() or not each.isascii()
    headers.date(value)


def test_nothing_is_found_under_a_path_that_is_none() -> None:
    raw = typed("text/plain", "x")
    assert contents(raw, ("", "1", "2", "1.1", "x")) == {"1": b"x"}


def test_a_name_without_its_bracket_is_looked_at_once() -> None:
    page = "".join(f"<p style='transform:var(--x){'a' * 3900}{n}'>x</p>" for n in range(100))
    begun = time.process_time()
    read(typed("text/html", page))
    assert time.process_time() - begun < 2  # seconds, and many times what it takes


def work(raw: bytes) -> int:
    """How many lines of Python it takes. What runs in C is a scan, or has its own limit."""
    count = 0

    def step(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if "channels/email" not in frame.f_code.co_filename.replace("\\", "/"):
            return None
        count += event == "line"
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        read(raw)
    finally:
        sys.settrace(before)
    return count


def test_twice_the_size_is_twice_the_work() -> None:
    grown = {name: (work(made(30)), work(made(60))) for name, made in GROWING.items()}
    assert {name: each for name, each in grown.items() if each[1] > 2.1 * each[0] + 40} == {}
