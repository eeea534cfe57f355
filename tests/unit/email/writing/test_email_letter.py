"""A letter's bytes say what was meant, to any reader, and nothing besides."""

from __future__ import annotations

import email
from email import policy
from email.message import EmailMessage
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.email.writing import check, letter, tokens
from channels.email.writing.clean import is_line, one_line
from channels.email.writing.fields import answering, echoed
from channels.email.writing.flow import flowed
from channels.email.writing.letter import File, Letter, LetterError, written
from gateway.engine.kinds import Millis
from gateway.engine.struct import replace

KEYS = tokens.Keys([b"k" * 32])
CONVERSATION = tokens.conversation_id(KEYS, "<1@example.com>")
OURS = tokens.message_id(KEYS, f"email:support:{CONVERSATION}", "t1", 0, "shop.example")
TWIN = tokens.twin(KEYS, OURS)
PLAIN = Letter(
    from_address="support@shop.example",
    from_name="June at the shop",
    to=("customer@example.com",),
    reply_to=tokens.reply_to(KEYS, "support@shop.example", CONVERSATION, "customer@example.com"),
    subject="Re: my order",
    message_id=OURS,
    twin=TWIN,
    in_reply_to="<2@example.com>",
    references=("<1@example.com>", "<2@example.com>"),
    date=Millis(1_772_704_800_000),
    text="Hello Ada,\n\nit is on its way.\n",
    html="<p>Hello Ada,</p><p>it is on its way.</p>",
)


def made(**changes: Any) -> bytes:
    return written(replace(PLAIN, **changes))


def read(raw: bytes) -> EmailMessage:
    return email.message_from_bytes(raw, policy=policy.default)


def lines(raw: bytes, name: str) -> list[str]:
    """A field's lines as they stand in the header."""
    head = raw.partition(b"\r\n\r\n")[0].decode()
    unfolded = head.replace("\r\n ", "\0 ").split("\r\n")
    return [found for line in unfolded if line.startswith(f"{name}:") for found in line.split("\0")]


def test_a_letter_is_read_as_it_was_meant() -> None:
    raw = made()
    mail = read(raw)
    assert list(mail.keys()) == [
        *("Date", "From", "To", "Reply-To", "Subject", "Message-ID", "In-Reply-To", "References"),
        *("Auto-Submitted", "X-Auto-Response-Suppress", "MIME-Version", "Content-Type"),
        "Content-Transfer-Encoding",
    ]
    assert mail["Date"] == "Thu, 05 Mar 2026 10:00:00 +0000"
    assert mail["From"] == "June at the shop <support@shop.example>"
    assert mail["Auto-Submitted"] == "auto-replied"
    assert mail["X-Auto-Response-Suppress"] == "OOF, AutoReply, DR, RN, NRN"
    assert mail.get_content_type() == "multipart/alternative"
    text, html = mail.iter_parts()
    assert isinstance(text, EmailMessage)
    assert isinstance(html, EmailMessage)
    assert text.get_param("format") == "flowed"
    assert text.get_content() == PLAIN.text.replace("\n", "\r\n")
    assert html.get_content() == PLAIN.html + "\r\n"
    assert raw == made()
    assert raw.endswith(b"\r\n")


def test_our_id_stands_in_references_under_its_second_name() -> None:
    assert read(made())["References"] == f"{TWIN} <1@example.com> <2@example.com>"
    assert read(made(in_reply_to="", references=()))["References"] == TWIN


def test_a_thread_ends_with_what_is_answered_and_names_nothing_twice() -> None:
    given = ("<2@example.com>", "<1@example.com>", TWIN, OURS, "<1@example.com>")
    assert read(made(references=given))["References"] == f"{TWIN} <1@example.com> <2@example.com>"


def test_a_long_thread_keeps_its_root_and_its_newest() -> None:
    raw = made(
        references=tuple(f"<{n}@example.com>" for n in range(500)), in_reply_to="<499@example.com>"
    )
    ids = str(read(raw)["References"]).split()
    assert ids[:2] == [TWIN, "<0@example.com>"]
    assert ids[-1] == "<499@example.com>"
    assert len(ids) == letter.MOST_REFERENCES + 1


def test_an_id_is_never_encoded_and_never_broken() -> None:
    long = f"<{'x' * 200}@mail.example>"
    raw = made(in_reply_to=long, references=("<[odd:%id]@host>", long))
    assert lines(raw, "In-Reply-To") == [f"In-Reply-To: {long}"]
    assert [line.strip() for line in lines(raw, "References")][-1] == long
    assert b"<[odd:%id]@host>" in raw
    assert b"=?" not in raw.partition(b"\r\n\r\n")[0]


@pytest.mark.parametrize(
    "theirs",
    [
        "<=?utf-8?q?a=0D=0ABcc:_x=40y?=@example.com>",
        "=?utf-8?q?a=0D=0ABcc:_x=40y?=",
        "<a@b>\r\nBcc: <x@y>",
        "<a\nb@c>",
        "<a\x00@b>",
        "<a b@c>",
        "<a@b><c@d>",
        "<a\xe9@b>",
        "a@b",
        "<>",
        f"<{'x' * 300}@b>",
    ],
)
def test_an_id_that_says_more_than_an_id_isnt_repeated(theirs: str) -> None:
    assert not echoed(theirs)
    raw = made(in_reply_to=theirs, references=(theirs, "<1@example.com>"))
    assert lines(raw, "In-Reply-To") == []
    assert read(raw)["References"] == f"{TWIN} <1@example.com>"
    assert b"Bcc" not in raw


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("Subject", {"subject": "a\r\nBcc: x@y.example"}),
        ("Subject", {"subject": "a\nb"}),
        ("Subject", {"subject": "a\x00"}),
        ("Subject", {"subject": "a\u2028b"}),
        ("Subject", {"subject": "\u202eevil"}),
        ("Subject", {"subject": "\ud800"}),
        ("Subject", {"subject": "x" * 2_000}),
        ("From", {"from_name": 'June"\r\nBcc: x@y.example'}),
        ("From", {"from_address": "a@b\r\nBcc: x@y.example"}),
        ("To", {"to": ("a@b.example>\r\nBcc: <x@y.example",)}),
        ("To", {"to": ("a@b.example, x@y.example",)}),
        ("To", {"to": ()}),
        ("Cc", {"cc": ("é@b.example",)}),
        ("Reply-To", {"reply_to": "a b@c.example"}),
        ("Message-ID", {"message_id": "<a@b>\r\nBcc: x@y.example"}),
        ("Message-ID", {"message_id": ""}),
        ("References", {"twin": "<a b>"}),
        ("Date", {"date": Millis(-1)}),
        ("Date", {"date": Millis(10**18)}),
        ("Content-Type", {"attachments": (File(name="x", media_type="a/b\r\nx: y", content=b""),)}),
        ("Content-Type", {"attachments": (File(name="x", media_type="message/rfc822", content=b""),)}),
        ("Content-Type", {"attachments": (File(name="x", media_type="text", content=b""),)}),
    ],
)  # fmt: skip
def test_what_would_be_another_letter_is_refused_by_name(
    field: str, changes: dict[str, Any]
) -> None:
    with pytest.raises(LetterError) as caught:
        made(**changes)
    assert caught.value.field == field
    assert "y.example" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "June",
        'June "the" \\ bot',
        "Grüße, Jüne",
        "=?utf-8?q?a=0D=0A?=",
        "a@b.example",
        "J" * 90,
        "\\",
    ],
)
def test_a_name_is_read_as_it_was_meant(name: str) -> None:
    sender = read(made(from_name=name))["From"].addresses[0]
    assert sender.addr_spec == "support@shop.example"
    assert sender.display_name == name


@pytest.mark.parametrize(
    "subject",
    [
        "",
        "Re: my order",
        "Re: " + "ordinary words " * 12 + "end",
        "Re: Grüße aus München " * 8,
        "=?utf-8?q?a=0D=0ABcc:_x=40y?=",
        "x" * 200,
        "two  spaces",
        " ",
        "日本語の件名" * 20,
        "👩‍👩‍👧 and more",
    ],
)
def test_a_subject_is_read_as_it_was_meant(subject: str) -> None:
    raw = made(subject=subject)
    assert read(raw)["Subject"] == subject
    assert max(len(line) for line in lines(raw, "Subject")) <= 78
    assert "Bcc" not in read(raw)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("my order", "Re: my order"),
        ("Re: my order", "Re: my order"),
        ("RE: AW: re[3]: Antw:  my order", "Re: my order"),
        ("回复：订单", "Re: 订单"),
        ("Fwd: my order", "Re: Fwd: my order"),
        ("Regarding: this", "Re: Regarding: this"),
        ("Re", "Re: Re"),
        ("", "Re:"),
        ("Re:", "Re:"),
        ("a\r\nBcc: b\x00\u202e", "Re: a Bcc: b"),
        ("x" * 900, "Re: " + "x" * 399 + "…"),
    ],
)
def test_an_answers_subject_says_re_once(before: str, after: str) -> None:
    assert answering(before) == after
    assert answering(after) == after


@pytest.mark.parametrize(
    ("given", "read_as"),
    [
        ("order.pdf", "order.pdf"),
        ("Rechnung für März.pdf", "Rechnung für März.pdf"),
        ("請求書" * 30 + ".pdf", "請求書" * 30 + ".pdf"),
        ("x" * 300 + ".tar.gz", "x" * 117 + ".gz"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ('a"; filename=b.exe', "a_; filename=b.exe"),
        ("a\r\nBcc: x", "a Bcc_ x"),
        ("exe.\u202efdp", "exe.fdp"),
        ("", "file"),
        ("..", "file"),
    ],
)
def test_a_files_name_arrives_harmless(given: str, read_as: str) -> None:
    content = bytes(range(256)) * 40
    raw = made(attachments=(File(name=given, media_type="application/pdf", content=content),))
    body, file = read(raw).iter_parts()
    assert body.get_content_type() == "multipart/alternative"
    assert isinstance(file, EmailMessage)
    assert file.get_filename() == read_as
    assert file.get_content_disposition() == "attachment"
    assert file.get_content() == content


@pytest.mark.parametrize(
    "text",
    ["", "\x00a\x07b\x85", ".\n..\n.", "From me\n>quoted\n  indented", "ü" * 3_000, "日本" * 400,
     "x" * 5_000, "a\r\nb\rc\n", "--=_boundary\n--\n-- \n", "\ud83d", "trailing   \n\ttab\t\n"],
)  # fmt: skip
def test_any_text_goes_through_in_lines_that_servers_keep(text: str) -> None:
    raw = made(
        text=text,
        html=text,
        attachments=(File(name="a", media_type="text/csv", content=text.encode(errors="replace")),),
    )
    assert max(map(len, raw.split(b"\r\n"))) <= 78
    assert raw.isascii()
    assert b"\x00" not in raw


@settings(max_examples=30)
@given(
    name=st.text(max_size=60),
    subject=st.text(max_size=120),
    theirs=st.lists(st.text(st.characters(max_codepoint=255), max_size=40), max_size=4),
    text=st.text(max_size=300),
    file=st.text(max_size=150),
)
def test_whatever_is_written_another_reader_finds_the_same_fields(
    name: str, subject: str, theirs: list[str], text: str, file: str
) -> None:
    attached = (File(name=file, media_type="text/plain", content=text.encode(errors="replace")),)
    changes = {"from_name": name, "subject": subject, "references": tuple(theirs), "text": text}
    if not is_line(name) or not is_line(subject):
        with pytest.raises(LetterError):
            made(**changes)
        changes |= {"from_name": one_line(name), "subject": one_line(subject)}
    raw = made(**changes, attachments=attached)
    wanted = [
        line.partition(b":")[0]
        for line in made(attachments=attached).partition(b"\r\n\r\n")[0].split(b"\r\n")
        if line[:1] != b" "
    ]
    found = [name.encode() for name in email.message_from_bytes(raw, policy=policy.compat32).keys()]  # noqa: SIM118
    assert found == wanted


@pytest.mark.parametrize(
    "text", ["a b " * 200, "x" * 100 + " y", "  lead  and   gaps " * 30, "> q\nFrom x\n"]
)
def test_broken_softly_a_text_is_whole_again(text: str) -> None:
    made = flowed(text)
    whole = ""
    for line in made.split("\n"):
        whole += line.removeprefix(" ")
        whole += "" if line.endswith(" ") else "\n"
    assert whole == "\n".join(line.rstrip(" ") for line in f"{text}\n".split("\n")[:-1]) + "\n"
    assert all(len(line) <= 73 or " " not in line.rstrip() for line in made.split("\n"))


# -- the last look -------------------------------------------------------------------------------------
RAW = made(attachments=(File(name="a.csv", media_type="text/csv", content=b"1,2\r\n"),))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"Subject:", b"Bcc: x@y.example\r\nSubject:"),
        (b"\r\nSubject: Re: my order", b"\r\nSubject: Re: my order\r\n\r\nevil"),
        (b"Subject: Re: my", b"Subject: Re: your"),
        (b"Subject: Re: my order", b"Subject: Re: my order\r\n "),
        (b"Subject: Re: my order\r\n", b""),
        (b"To: customer@", b"To: eve@example.com, customer@"),
        (b"<support@", b"<eve@"),
        (b"References: ", b"References: <x@y> "),
        (b"Auto-Submitted: auto-replied", b"Auto-Submitted: no"),
        (b"MIME-Version: 1.0\r\n", b"MIME-Version: 1.0\r\nX-Extra: 1\r\n"),
        (b"Content-Type: text/html;", b"X-Extra: 1\r\nContent-Type: text/html;"),
        (b"Content-Type: text/html;", b"Content-Type: text/evil;"),
        (b"on its way", b"on your way"),
        (b'filename="a.csv"', b'filename="a.exe"'),
        (b'filename="a.csv"', b'filename="a.csv"; filename*=utf-8\'\'a.exe'),
        (b"MSwyDQo=", b"MSwzDQo="),
        (b"--\r\n\r\n--", b"--\r\n--"),
        (b"Hello", b"H\x00llo"),
        (b"Hello", b"H\xc3\xa9llo"),
        (b"Hello", b"H\nllo"),
        (b"Hello", b"H\rllo"),
        (b"Hello", b"x" * 999),
        (b"base64", b"x-other"),
    ],
)  # fmt: skip
def test_the_last_look_sees_every_difference(old: bytes, new: bytes) -> None:
    meant = letter._meant(
        replace(PLAIN, attachments=(File(name="a.csv", media_type="text/csv", content=b"1,2\r\n"),))
    )
    check.check(RAW, meant)
    assert old in RAW
    with pytest.raises(LetterError):
        check.check(RAW.replace(old, new, 1), meant)
