"""Mails that no person wrote: bounces and out-of-office answers."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from email.utils import format_datetime

from channels.email.emulator.letters import Draft, address_of, one_line, parsed, thread_of
from gateway.engine.kinds import Millis
from gateway.engine.struct import struct

MARKS = {"Auto-Submitted": "auto-replied", "Precedence": "bulk", "X-Autoreply": "yes"}


@struct(frozen=True, slots=True, kw_only=True)
class Bounce:
    """Why mail to an address doesn't arrive. A status that begins with 4 is a delay."""

    status: str = "5.1.1"
    diagnostic: str = "550 5.1.1 there is no such mailbox"
    whole: bool = True
    """The report carries the whole mail; if not, its header alone."""


@struct(frozen=True, slots=True, kw_only=True)
class Away:
    """What a mailbox answers by itself. ``marked``: as RFC 3834 asks for, to the return path, and nothing
    to mail without one. If not: to whoever the header names, with nothing that tells it from a person's
    mail. ``limit`` is how often at most."""

    text: str = "I'm out of the office and back on Monday."
    subject: str = "Automatic reply"
    marked: bool = True
    limit: int = 20


def report(raw: bytes, sender: str, recipient: str, why: Bounce, *, by: str, at: Millis) -> bytes:
    """A delivery status notification (RFC 3464) to the mail's envelope sender."""
    delayed = why.status.startswith("4")
    action = "delayed" if delayed else "failed"
    when = format_datetime(datetime.fromtimestamp(at / 1000, UTC))
    mark = f"report-{hashlib.sha256(raw + recipient.encode()).hexdigest()[:16]}"
    head = raw.partition(b"\r\n\r\n")[0] + b"\r\n"
    subject = (
        "Delayed mail (still being retried)" if delayed else "Undelivered mail returned to sender"
    )
    opening = f"""\
From: Mail Delivery System <MAILER-DAEMON@{by}>
To: {sender}
Subject: {subject}
Date: {when}
Message-ID: <{mark}@{by}>
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="{mark}"

This is a MIME-encapsulated message.

--{mark}
Content-Type: text/plain; charset=us-ascii
Content-Description: Notification

This is the mail system at {by}.

Your message to <{recipient}> {"is late" if delayed else "could not be delivered"}:
{why.diagnostic}

--{mark}
Content-Type: message/delivery-status
Content-Description: Delivery report

Reporting-MTA: dns; {by}
Arrival-Date: {when}

Final-Recipient: rfc822; {recipient}
Original-Recipient: rfc822; {recipient}
Action: {action}
Status: {why.status}
Diagnostic-Code: smtp; {why.diagnostic}

--{mark}
Content-Type: {"message/rfc822" if why.whole else "text/rfc822-headers"}
Content-Description: Undelivered message

"""
    top = opening.replace("\n", "\r\n").encode("utf-8", "replace")
    return top + (raw if why.whole else head) + f"\r\n--{mark}--\r\n".encode("ascii")


def away_answer(
    raw: bytes, envelope_sender: str, address: str, away: Away, at: Millis
) -> tuple[str, bytes] | None:
    """Whom a mailbox answers by itself, and what; ``None`` for nobody."""
    theirs = parsed(raw)
    header = address_of(one_line(theirs, "Reply-To") or one_line(theirs, "From"))
    to = envelope_sender if away.marked else header
    if not to:
        return None
    subject = one_line(theirs, "Subject")
    in_reply_to, references = thread_of(theirs)
    draft = Draft(
        sender=address,
        to=[to],
        subject=f"{away.subject}: {subject}" if away.marked else f"Re: {subject}",
        text=away.text,
        in_reply_to=in_reply_to,
        references=references,
        date=at,
        more=MARKS if away.marked else {},
    )
    return to, draft.raw()
