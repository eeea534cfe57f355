"""Mails as people's programs write them: the ordinary shapes, by the standard library.

The gateway has a serializer of its own; this one is somebody else's on purpose.
"""

from __future__ import annotations

import email
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, getaddresses
from html import escape

from gateway.engine.kinds import Millis
from gateway.engine.limits import SYSTEM_CLOCK
from gateway.engine.struct import struct

# The standard library would write an id of more than some 75 characters as encoded words, which no
# program reads back; mail programs write such a line whole.
POLICY = SMTP.clone(max_line_length=998)


@struct(frozen=True, slots=True)
class File:
    name: str
    media_type: str
    content: bytes


@struct(frozen=True, slots=True, kw_only=True)
class Draft:
    """A mail as it is written. Addresses may have a name: ``"Ada <ada@cust.example>"``.

    With both ``text`` and ``html`` it has two versions of one body; with ``html`` alone it is as a phone
    sends it. ``in_reply_to`` and ``references`` are ids with their angle brackets. ``more`` are further
    fields of the header.
    """

    sender: str
    to: Sequence[str]
    subject: str
    text: str = ""
    html: str = ""
    cc: Sequence[str] = ()
    files: Sequence[File] = ()
    in_reply_to: str = ""
    references: Sequence[str] = ()
    message_id: str = ""
    date: Millis | None = None
    more: Mapping[str, str] = field(default_factory=dict[str, str])

    def raw(self) -> bytes:
        mail = EmailMessage(policy=POLICY)
        mail["From"] = _addresses([self.sender])
        mail["To"] = _addresses(self.to)
        if self.cc:
            mail["Cc"] = _addresses(self.cc)
        mail["Subject"] = self.subject
        when = SYSTEM_CLOCK.now() if self.date is None else self.date
        mail["Date"] = format_datetime(datetime.fromtimestamp(when / 1000, UTC))
        domain = address_of(self.sender).rpartition("@")[2]
        mail["Message-ID"] = self.message_id or f"<{secrets.token_hex(10)}@{domain}>"
        if self.in_reply_to:
            mail["In-Reply-To"] = self.in_reply_to
        if self.references:
            mail["References"] = " ".join(self.references)
        for name, value in self.more.items():
            mail[name] = value
        self._fill(mail)
        return mail.as_bytes()

    def _fill(self, mail: EmailMessage) -> None:
        if self.text or not self.html:
            mail.set_content(self.text, cte="quoted-printable")
            if self.html:
                mail.add_alternative(self.html, subtype="html", cte="quoted-printable")
        else:
            mail.set_content(self.html, subtype="html", cte="quoted-printable")
        for file in self.files:
            kind, _, subtype = file.media_type.partition("/")
            mail.add_attachment(file.content, maintype=kind, subtype=subtype, filename=file.name)


def reply(to_mail: bytes, sender: str, text: str, *, html: bool = False) -> Draft:
    """The answer that a mail program makes of a mail: threaded, to its Reply-To, the whole text quoted
    below. ``html``: as a phone writes it, HTML only."""
    theirs = parsed(to_mail)
    author, when = one_line(theirs, "From"), one_line(theirs, "Date")
    quoted = body_of(theirs)
    subject = one_line(theirs, "Subject")
    said = f"On {when}, {author} wrote:"
    page = (
        f"<div>{escape(text)}</div><br><div class='gmail_quote'><div>{escape(said)}</div>"
        f"<blockquote>{escape(quoted)}</blockquote></div>"
    )
    below = "\n".join(f"> {line}".rstrip() for line in quoted.splitlines())
    in_reply_to, references = thread_of(theirs)
    return Draft(
        sender=sender,
        to=[one_line(theirs, "Reply-To") or author],
        subject=subject if subject.lower().startswith("re:") else f"Re: {subject}",
        text="" if html else f"{text}\n\n{said}\n{below}\n",
        html=page if html else "",
        in_reply_to=in_reply_to,
        references=references,
    )


# -- reading what is answered --------------------------------------------------------------------
def parsed(raw: bytes) -> EmailMessage:
    return email.message_from_bytes(raw, policy=POLICY)


def one_line(mail: EmailMessage, name: str) -> str:
    """A field's text; empty where there is none, or one that the standard library can't read."""
    try:
        value = mail[name]
    except (AttributeError, IndexError, TypeError, ValueError):
        return ""
    return "" if value is None else " ".join(str(value).split())


def address_of(text: str) -> str:
    """The address in ``Name <address>``; empty where there is none."""
    return next((address for _, address in getaddresses([text]) if address), "")


def thread_of(mail: EmailMessage) -> tuple[str, tuple[str, ...]]:
    """What an answer to this mail says in In-Reply-To and References (RFC 5322 3.6.4)."""
    own = one_line(mail, "Message-ID")
    before = one_line(mail, "References").split() or one_line(mail, "In-Reply-To").split()[:1]
    return own, (*before, own) if own else ()


def body_of(mail: EmailMessage) -> str:
    """The text that a reply quotes."""
    body = mail.get_body(("plain", "html"))
    if body is None:
        return ""
    try:
        content: object = body.get_content()
    except (KeyError, LookupError):
        return ""
    return content if isinstance(content, str) else ""


def _addresses(people: Sequence[str]) -> tuple[Address, ...]:
    return tuple(
        Address(name, addr_spec=address) for name, address in getaddresses(list(people)) if address
    )
