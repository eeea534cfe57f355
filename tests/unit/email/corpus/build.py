"""How a mail of the corpus is made, and what is expected of it.

A table is made of functions under ``@case``: each is one mail by its name, and returns its bytes and what
``read`` makes of them. Only what an ``Expected`` names is compared.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass

from channels.email.mail import Attachment, Mail

Made = tuple[bytes, "Expected"]


@dataclass(frozen=True, kw_only=True)
class Expected:
    """``has`` and ``lacks`` are pieces of the text; ``files`` the attachments' names; ``notes`` and ``over``
    pieces of what is told."""

    text: str | None = None
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    subject: str | None = None
    message_id: str | None = None
    in_reply_to: tuple[str, ...] | None = None
    references: tuple[str, ...] | None = None
    date: int | None = None
    files: tuple[str, ...] | None = None
    unread: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    over: str = ""
    decoded: tuple[str, ...] | None = None
    hidden: str | None = None
    quote: str | None = None
    """What the text says from where its quotation begins."""
    html: bool | None = None
    forwarded: bool | None = None
    fields: tuple[tuple[str, bytes], ...] = ()
    """Some of the fields, in this order."""

    def faults(self, mail: Mail) -> list[str]:
        found = [
            f"{name}: {getattr(mail, name)!r}"
            for name in (
                *("text", "subject", "message_id", "in_reply_to", "references", "date"),
                *("decoded", "hidden", "html", "forwarded"),
            )
            if getattr(self, name) is not None and getattr(self, name) != getattr(mail, name)
        ]
        found += [f"lacks {each!r}: {mail.text!r}" for each in self.has if each not in mail.text]
        found += [f"has {each!r}: {mail.text!r}" for each in self.lacks if each in mail.text]
        found += self._files(mail.attachments)
        notes = " ".join(mail.notes)
        found += [f"no note {each!r}: {notes!r}" for each in self.notes if each not in notes]
        if (self.over not in mail.over) if self.over else mail.over:
            found.append(f"over: {mail.over!r}")
        if self.quote is not None:
            quote = "" if mail.quote_at is None else mail.text[mail.quote_at :]
            found += [] if quote.startswith(self.quote) and quote else [f"quote: {quote!r}"]
        pairs = [(each.name, each.value) for each in mail.fields]
        at = 0
        for pair in self.fields:
            if pair not in pairs[at:]:
                found.append(f"no field {pair}: {pairs[at:]}")
                break
            at = pairs.index(pair, at) + 1
        return found

    def _files(self, attachments: tuple[Attachment, ...]) -> list[str]:
        names = tuple(each.name for each in attachments)
        unread = tuple(each.name for each in attachments if each.unread)
        found: list[str] = []
        if self.files is not None and names != self.files:
            found.append(f"files: {names}")
        if self.unread is not None and unread != self.unread:
            found.append(f"unread: {unread}")
        return found


Table = dict[str, Callable[[], Made]]


def table() -> tuple[Table, Callable[[Callable[[], Made]], Callable[[], Made]]]:
    """An empty table, and what enters a function there."""
    made: Table = {}

    def case(function: Callable[[], Made]) -> Callable[[], Made]:
        assert function.__name__ not in made
        made[function.__name__] = function
        return function

    return made, case


# -- the bytes -------------------------------------------------------------------------------------
HEAD = (
    b"From: Ada <ada@customer.example>\r\nTo: support@shop.example\r\n"
    b"Date: Mon, 01 Mar 2027 10:00:00 +0100\r\nMessage-ID: <m1@customer.example>\r\nSubject: Order 1042\r\n"
)


def crlf(text: str, charset: str = "utf-8") -> bytes:
    return text.replace("\n", "\r\n").encode(charset)


def mail(head: str = "", body: bytes | str = b"", *, base: bytes = HEAD) -> bytes:
    """An ordinary mail with more fields, or with other ones where ``base`` is empty."""
    return base + crlf(head) + b"\r\n" + (crlf(body) if isinstance(body, str) else body)


def typed(content_type: str, body: bytes | str, encoding: str = "", base: bytes = HEAD) -> bytes:
    coded = f"Content-Transfer-Encoding: {encoding}\n" if encoding else ""
    return mail(f"MIME-Version: 1.0\nContent-Type: {content_type}\n{coded}", body, base=base)


def part(content_type: str, body: bytes | str, more: str = "") -> bytes:
    head = f"Content-Type: {content_type}\n{more}"
    return crlf(head) + b"\r\n" + (crlf(body) if isinstance(body, str) else body)


def joined(*parts: bytes, boundary: str = "b1") -> bytes:
    mark = b"--" + boundary.encode()
    return b"".join(mark + b"\r\n" + each + b"\r\n" for each in parts) + mark + b"--\r\n"


def multipart(kind: str, *parts: bytes, boundary: str = "b1", more: str = "") -> bytes:
    return typed(
        f'multipart/{kind}; boundary="{boundary}"{more}', joined(*parts, boundary=boundary)
    )


def inner(kind: str, *parts: bytes, boundary: str = "b2", more: str = "") -> bytes:
    return part(f'multipart/{kind}; boundary="{boundary}"{more}', joined(*parts, boundary=boundary))


def b64(data: bytes | str) -> bytes:
    return base64.encodebytes(data.encode() if isinstance(data, str) else data)


def file(name: str, media: str = "application/pdf", data: bytes = b"%PDF") -> bytes:
    more = (
        f'Content-Disposition: attachment; filename="{name}"\nContent-Transfer-Encoding: base64\n'
    )
    return part(media, b64(data), more)


def text(body: str) -> bytes:
    return part("text/plain; charset=utf-8", body)


def html(body: str) -> bytes:
    return part("text/html; charset=utf-8", body)
