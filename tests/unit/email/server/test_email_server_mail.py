"""What the server writes by itself: the border's results, bounces, out-of-office answers; and the letters
that people write."""

from __future__ import annotations

import email
from email.message import EmailMessage
from email.policy import SMTP
from typing import Any

import pytest

from channels.email.emulator.letters import Draft, File, reply
from channels.email.emulator.notices import Away, Bounce
from channels.email.identity.attest import Trust, attest
from channels.email.mail import RawMail
from channels.email.mime.read import read as read_mail
from tests.unit.email.server.conftest import ADA, SUPPORT, Post, draft


def read(raw: bytes) -> EmailMessage:
    return email.message_from_bytes(raw, policy=SMTP)


def names(raw: bytes) -> list[str]:
    return [name for name, _ in read(raw).raw_items()]


# -- the border ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("verdicts", "dmarc", "said"),
    [
        ({}, "", "dmarc=none"),
        ({"cust.example": "pass"}, "", "dmarc=pass"),
        ({"cust.example": "pass"}, "fail", "dmarc=fail"),
        ({"other.example": "pass"}, "", "dmarc=none"),
    ],
)
async def test_the_border_says_what_it_is_told(
    post: Post, verdicts: dict[str, str], dmarc: str, said: str
) -> None:
    post.server.border.verdicts.update(verdicts)
    await post.server.deliver(draft().raw(), SUPPORT, ADA, dmarc=dmarc)
    [raw] = post.server.mails(SUPPORT)
    assert names(raw)[:7] == [
        *("Return-Path", "Delivered-To", "Received"),
        *("Authentication-Results",) * 3,
        "Received",
    ]
    assert f"mx.shop.example; {said} " in str(read(raw)["Authentication-Results"])


@pytest.mark.parametrize(
    ("sender", "said"), [(ADA, "dmarc=pass"), ("x@evil.example", "dmarc=fail")]
)
async def test_who_signed_in_speaks_for_his_domain_only(post: Post, sender: str, said: str) -> None:
    await post.send(post.ada, draft(sender=sender).raw(), SUPPORT)
    assert said.encode() in post.server.mails(SUPPORT)[0]


async def test_a_border_may_write_no_results(post: Post) -> None:
    post.server.border.checks = False
    await post.server.deliver(draft().raw(), SUPPORT, ADA)
    assert "Authentication-Results" not in names(post.server.mails(SUPPORT)[0])


@pytest.mark.parametrize(
    ("dmarc", "level"), [("pass", "domain"), ("fail", "none"), ("none", "none")]
)
@pytest.mark.parametrize("signed_in", [True, False])
async def test_the_gateway_believes_what_this_border_says(
    post: Post, dmarc: str, level: str, signed_in: bool
) -> None:
    post.server.border.verdicts["cust.example"] = dmarc
    raw = draft().raw()
    if signed_in:
        await post.send(post.ada, raw, SUPPORT)
    else:
        await post.server.deliver(raw, SUPPORT, ADA)
    [kept] = post.server.mails(SUPPORT)
    name = post.server.border.id
    trust = Trust(authserv_id=name, border_host=name, own=frozenset({SUPPORT}))
    now = post.server.now()
    handed = RawMail(raw=kept, way="imap", envelope_from=ADA, envelope_to=(SUPPORT,), at=now)
    found = attest(read_mail(kept), handed, trust, now)
    assert found.level == level, found.reasons


# -- bounces ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("to", [ADA, "far@away.example"])
@pytest.mark.parametrize("whole", [True, False])
async def test_a_bounce_names_what_failed(post: Post, to: str, whole: bool) -> None:
    post.server.bounce(to, Bounce(status="5.2.2", diagnostic="552 5.2.2 full", whole=whole))
    await post.send(
        post.support,
        draft(message_id="<m@shop.example>").raw(),
        to,
        sender="support+b@shop.example",
    )
    [raw] = post.server.mails(SUPPORT)
    mail = read(raw)
    assert mail["Return-Path"] == "<>"
    assert mail["Delivered-To"] == "support+b@shop.example"
    assert mail.get_content_type() == "multipart/report"
    _, status, original = mail.iter_parts()
    fields: Any = status.get_payload()
    assert (fields[1]["Status"], fields[1]["Action"]) == ("5.2.2", "failed")
    assert fields[1]["Final-Recipient"] == f"rfc822; {to}"
    assert b"Message-ID: <m@shop.example>" in original.as_bytes()
    assert (b"Broken." in original.as_bytes()) is whole
    assert post.server.mails(ADA) == []


async def test_a_delay_is_no_failure_and_a_report_has_no_report(post: Post) -> None:
    post.server.bounce(ADA, Bounce(status="4.4.1"))
    await post.send(post.support, draft().raw(), ADA)
    assert b"\r\nAction: delayed\r\n" in post.server.mails(SUPPORT)[0]
    await post.server.deliver(draft().raw(), ADA, "")
    assert len(post.server.mails(SUPPORT)) == 1
    post.server.back(ADA)
    await post.send(post.support, draft().raw(), ADA)
    assert len(post.server.mails(ADA)) == 1


# -- out of office ---------------------------------------------------------------------------------
async def test_a_marked_answer_goes_to_the_return_path(post: Post) -> None:
    post.server.away(ADA)
    raw = draft(message_id="<q@shop.example>", sender=SUPPORT, to=[ADA]).raw()
    await post.send(post.support, raw, ADA, sender="support+bounce@shop.example")
    [answer] = post.server.mails(SUPPORT)
    mail = read(answer)
    assert mail["Delivered-To"] == "support+bounce@shop.example"
    assert (mail["Return-Path"], mail["Auto-Submitted"]) == ("<>", "auto-replied")
    assert mail["In-Reply-To"] == "<q@shop.example>"
    await post.server.deliver(raw, ADA, "")  # a mail that wants no answer gets none
    assert len(post.server.mails(SUPPORT)) == 1


async def test_one_without_marks_looks_like_a_person_and_has_an_end(post: Post) -> None:
    post.server.away(ADA, Away(marked=False, limit=3))
    post.server.away(SUPPORT, Away(marked=False, limit=3))
    await post.server.deliver(
        draft(sender=SUPPORT, to=[ADA], more={"Reply-To": "support+t@shop.example"}).raw(), ADA, ""
    )
    answers = post.server.mails(SUPPORT)
    mail = read(answers[0])
    assert mail["Return-Path"] == f"<{ADA}>"
    assert mail["Delivered-To"] == "support+t@shop.example"
    assert mail["Auto-Submitted"] is None
    assert len(answers) + len(post.server.mails(ADA)) <= 1 + 3 + 3


# -- letters ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({}, "text/plain"),
        ({"html": "<p>Broken.</p>"}, "multipart/alternative"),
        ({"text": "", "html": "<p>Broken.</p>"}, "text/html"),
        ({"files": [File("p.png", "image/png", b"\x89PNG")]}, "multipart/mixed"),
    ],
)
def test_the_shapes_of_a_letter(more: dict[str, Any], kind: str) -> None:
    mail = read(draft(**more).raw())
    assert mail.get_content_type() == kind
    assert str(mail["From"]) == f"Ada <{ADA}>"
    body = mail.get_body()
    assert body is not None
    assert "Broken." in body.get_content()


@pytest.mark.parametrize("html", [False, True])
def test_a_reply_is_threaded_and_quotes_all(html: bool) -> None:
    first = Draft(
        sender=f"June <{SUPPORT}>",
        to=[ADA],
        subject="Order 1042",
        text="Where is it?\nOr was it?",
        message_id=f"<{'long' * 30}@shop.example>",
        references=["<r1@cust.example>"],
        more={"Reply-To": "support+t@shop.example"},
    ).raw()
    answer = reply(first, ADA, "Here.", html=html)
    raw = answer.raw()
    assert f"\r\nIn-Reply-To: <{'long' * 30}@shop.example>\r\n".encode() in raw
    assert f"\r\nReferences: <r1@cust.example> <{'long' * 30}@shop.example>\r\n".encode() in raw
    mail = read(raw)
    assert (mail["To"], mail["Subject"]) == ("support+t@shop.example", "Re: Order 1042")
    body = mail.get_body()
    assert body is not None
    text = body.get_content()
    assert "Here." in text
    assert "<blockquote>" in text if html else "> Or was it?" in text
    assert reply(raw, SUPPORT, "ok").subject == "Re: Order 1042"
