"""Bounces say which mail of ours didn't arrive; those that nobody wrote a standard for say enough."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.email.reading.bounce import Bounce, bounce
from tests.unit.email.reading.letters import PERSON, mail_of, raw_of

SENT = "<AbC[7]x@shop.example>"
HEAD = """\
From: Mail Delivery System <MAILER-DAEMON@mx.example>
To: bounce+abc@shop.example
Subject: Undelivered Mail Returned to Sender
Message-ID: <9@mx.example>
MIME-Version: 1.0"""
REPORT = f'{HEAD}\nContent-Type: multipart/report; report-type=delivery-status;\n boundary="b/1"\n'
RETURNED = f"""\
Return-Path: <bounce+abc@shop.example>
From: June <support@shop.example>
To: customer@example.com
Subject: Re: Order 1042
Message-ID: {SENT}"""
REFUSED = """\
Reporting-MTA: dns; mx.example
Arrival-Date: Mon, 3 Mar 2025 10:12:00 +0100

Final-Recipient: rfc822; Customer@example.com
Original-Recipient: rfc822;customer@example.com
Action: failed
Status: 5.1.1
Diagnostic-Code: smtp; 550 5.1.1 <customer@example.com>:
    Recipient address rejected"""
LATE = """\
Reporting-MTA: dns; mx.example

Final-Recipient: rfc822; customer@example.com
Action: delayed
Status: 4.4.1
Diagnostic-Code: X-Postfix; connect to example.com: timed out
Will-Retry-Until: Sat, 8 Mar 2025 10:12:00 +0100"""


def report(status: str, returned: str = RETURNED, kind: str = "message/rfc822") -> str:
    parts = [
        "Content-Type: text/plain\n\nYour message could not be delivered.",
        f"Content-Type: message/delivery-status\n\n{status}\n",
        f"Content-Type: {kind}\n\n{returned}\n\nHello" if returned else "",
    ]
    return REPORT + "".join(f"\n--b/1\n{part}" for part in parts if part) + "\n--b/1--\n"


def read(text: str | bytes, shown: str | None = None) -> Bounce | None:
    raw = raw_of(text) if isinstance(text, str) else text
    return bounce(raw, mail_of(raw, shown))


def found(text: str | bytes, shown: str | None = None) -> Bounce:
    one = read(text, shown)
    assert one is not None
    return one


# -- reports ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "kind",
    [
        *("message/rfc822", "text/rfc822-headers", "Text/RFC822-Headers; charset=us-ascii"),
        *("message/rfc822-headers", "message/global", "message/global-headers"),
    ],
)
def test_a_report_names_the_mail_byte_for_byte(kind: str) -> None:
    one = found(report(REFUSED, RETURNED + "\nX-June-Loop: c.s.k", kind))
    assert (one.message_ids, one.marks) == ((SENT,), ("c.s.k",))
    assert (one.failed, one.recipient) == (True, "customer@example.com")
    assert (one.status, one.action) == ("5.1.1", "failed")
    assert one.said == "5.1.1 550 5.1.1 <customer@example.com>: Recipient address rejected"


def test_a_delay_is_no_failure() -> None:
    one = found(report(LATE))
    assert (one.failed, one.action, one.status) == (False, "delayed", "4.4.1")
    assert one.message_ids == (SENT,)


@pytest.mark.parametrize(
    ("action", "status", "expected"),
    [
        *(("failed", "4.4.7", "failed"), ("delayed", "5.0.0", "delayed")),
        *(("Delivered (to the box)", "2.1.5", "delivered"), ("relayed", "2.0.0", "relayed")),
        *(("expanded", "2.0.0", "expanded"), ("bounced", "5.7.1", "failed")),
        *(("", "4.2.2", "delayed"), ("", "2.0.0", "delivered"), ("", "", "failed")),
    ],
)
def test_the_action_decides_and_the_status_where_there_is_none(
    action: str, status: str, expected: str
) -> None:
    group = f"Final-Recipient: rfc822; a@example.com\nAction: {action}\nStatus: {status}"
    one = found(report(group))
    assert (one.action, one.status, one.failed) == (expected, status, expected == "failed")
    assert one.rule == {"failed": "bounce", "delayed": "delayed"}.get(expected, "receipt")


def test_one_of_several_recipients_failed() -> None:
    status = "\n\n".join(
        [
            LATE.replace("customer", "ada"),
            REFUSED.partition("\n\n")[2],
            "Final-Recipient: rfc822; bert@example.com\nAction: delivered\nStatus: 2.0.0",
        ]
    )
    one = found(report(status))
    assert [(each.recipient, each.action) for each in one.refusals] == [
        ("ada@example.com", "delayed"),
        ("customer@example.com", "failed"),
        ("bert@example.com", "delivered"),
    ]
    assert (one.failed, one.recipient, one.status) == (True, "customer@example.com", "5.1.1")


def test_the_status_may_stand_in_the_diagnostic_only() -> None:
    group = "Final-Recipient: rfc822; a@example.com\nDiagnostic-Code: smtp; 552 5.2.2 Mailbox full"
    assert found(report(group)).refusals[0].status == "5.2.2"


def test_a_report_without_a_returned_mail_has_the_ids_that_it_replies_to() -> None:
    text = report(REFUSED, returned="").replace(
        "MIME-Version: 1.0", f"In-Reply-To: {SENT}\nReferences: <0@shop.example> {SENT}"
    )
    assert found(text).message_ids == (SENT, "<0@shop.example>")


def test_a_report_that_says_nothing_is_read_by_its_words() -> None:
    one = found(
        report("nonsense\n\nmore: nonsense"), "550 5.1.1 no such user\ncustomer@example.com"
    )
    assert (one.failed, one.status, one.recipient) == (True, "5.1.1", "customer@example.com")


def test_a_returned_header_in_an_encoding() -> None:
    kind = "text/rfc822-headers\nContent-Transfer-Encoding: quoted-printable"
    coded = RETURNED.replace("AbC[7]", "AbC=5B7=5D")
    assert found(report(REFUSED, coded, kind)).message_ids == (SENT,)


def test_a_report_in_a_plain_cover_counts_if_a_mail_server_sent_it() -> None:
    text = report(REFUSED).replace(
        "multipart/report; report-type=delivery-status", "multipart/mixed"
    )
    assert found(text).message_ids == (SENT,)
    assert read(text.replace("MAILER-DAEMON@mx.example", "customer@example.com")) is None


def test_a_bounce_that_a_person_passes_on_is_the_persons_mail() -> None:
    inner = report(REFUSED)
    text = f"{PERSON}\nContent-Type: multipart/mixed; boundary=o\n\n--o\n\nWhat is this?\n--o\nContent-Type: message/rfc822\n\n{inner}\n--o--\n"
    assert read(text) is None


@pytest.mark.parametrize(
    "text",
    [
        f"{PERSON}\n\nMy parcel was not delivered, it says 5.1.1. Mailer-daemon?",
        f"{PERSON}\nAuto-Submitted: auto-replied\n\nI am away. Your mail is not delivered.",
        f"{PERSON.replace('customer@example.com', 'postmaster@example.com')}\n\nCould you help us?",
        report(REFUSED)
        .replace("delivery-status", "disposition-notification")
        .replace("MAILER-DAEMON@mx.example", "customer@example.com"),
    ],
)
def test_what_is_no_bounce(text: str) -> None:
    assert read(text) is None


def test_a_receipt_is_no_bounce_even_from_a_mail_server() -> None:
    assert read(report(REFUSED).replace("delivery-status", "disposition-notification")) is None


# -- words only ------------------------------------------------------------------------------------
QMAIL = f"""\
Hi. This is the mail program at mx.example.
I wasn't able to deliver your message. I've given up. Sorry it didn't work out.

<customer@example.com>:
192.0.2.7 does not like recipient.
Remote host said: 550 no such user here

--- Below this line is a copy of the message.

{RETURNED}

Hello"""
EXIM = f"""\
This message was created automatically by mail delivery software.
A message that you sent could not be delivered to one or more of its recipients.

  customer@example.com
    all hosts have been failing for a long time

------ This is a copy of the message's headers. ------

{RETURNED}"""
EXCHANGE = """\
Your message did not reach some or all of the intended recipients.

      Subject:  Order 1042
      Sent:     3/3/2025 10:12 AM

The following recipient(s) could not be reached:

      customer@example.com
            The e-mail account does not exist. <mx.example #5.1.1>"""
WARNED = f"""\
    **  THIS IS A WARNING MESSAGE ONLY  **
Warning: could not send message for past 4 hours
Will keep trying until message is 5 days old

> Message-ID:
>  {SENT}"""


@pytest.mark.parametrize(
    ("text", "ids", "action", "status", "recipient"),
    [
        (QMAIL, (SENT,), "failed", "5.0.0", "customer@example.com"),
        (EXIM, (SENT,), "failed", "", "customer@example.com"),
        (EXCHANGE, (), "failed", "5.1.1", "customer@example.com"),
        (WARNED, (SENT,), "delayed", "", ""),
        ("Delivery failed.\nIt was delayed, and I am giving up.", (), "failed", "", ""),
        ("mailer-daemon@mx.example\nNot delivered:\na@b.example", (), "failed", "", "a@b.example"),
        ("Not delivered: 452 4.2.2 mailbox full", (), "delayed", "4.2.2", ""),
        ("Not delivered to 5.1.1.1, version 5.1", (), "failed", "", ""),
    ],
    ids=["qmail", "exim", "exchange", "sendmail", "given up", "by itself", "full", "an address"],
)
def test_bounces_in_words(
    text: str, ids: tuple[str, ...], action: str, status: str, recipient: str
) -> None:
    one = found(f"{HEAD.replace('Undelivered', 'Notice of')}\n\n{text}\n")
    assert one.message_ids == ids
    assert (one.action, one.status, one.recipient) == (action, status, recipient)


def test_the_recipients_that_a_field_names() -> None:
    head = f"{HEAD}\nX-Failed-Recipients: customer@example.com, ada@example.com"
    one = found(f"{head.replace('MAILER-DAEMON', 'system')}\n\nSorry.")
    assert [each.recipient for each in one.refusals] == ["customer@example.com", "ada@example.com"]


# -- any bytes -------------------------------------------------------------------------------------
HARMFUL = set("\x00\x07\x1b\x7f\x85\u202e\n\r\t")
BYTES = st.lists(
    st.binary(max_size=30)
    | st.sampled_from(
        [
            *(b"\r\n", b"\r\n\r\n", b"\n--b/1\n", b"--b/1--", b"Action: failed\n", b"Status: 5.\n"),
            *(b"Final-Recipient: ;\x00\n", b"Content-Type: message/delivery-status\n\n", b"\x00"),
            *(
                b"Message-ID: <",
                b"Diagnostic-Code: \xff\x1b[2J\xe2\x80\xae\n",
                b"550 ",
                b"<a@b>:\n",
            ),
        ]
    ),
    max_size=12,
).map(b"".join)


@settings(max_examples=80)
@given(
    head=st.sampled_from([raw_of(REPORT), raw_of(HEAD) + b"\r\n", b""]),
    body=BYTES,
    shown=st.text(max_size=60),
)
def test_any_bytes_are_read(head: bytes, body: bytes, shown: str) -> None:
    one = read(head + b"\r\n" + body, shown)
    for each in one.refusals if one is not None else ():
        said = each.recipient + each.status + each.diagnostic
        assert not HARMFUL & set(said)
        assert len(said) < 1_000


def test_a_great_many_lines_that_are_no_fields() -> None:
    one = found(
        report("x\n\n" * 20_000 + "Final-Recipient: rfc822; late@example.com\nAction: failed")
    )
    assert one.failed  # the words above it say so; what comes so late isn't looked at
    assert one.recipient != "late@example.com"
