"""What makes two mails the same one: everything but the traces of their ways.

A mail that reaches two of our addresses, or that a server hands out a second time under a new number, comes
with other trace fields (RFC 5321 section 4.4, RFC 8601) and is still one mail. Its Message-ID alone doesn't
say so: some have none, and anybody may use another's. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from channels.email.identity.recipients import listed
from channels.email.mime import headers
from channels.email.reading.senders import returns_nowhere
from channels.email.writing.tokens import bounces_there

__all__ = ["bytes_id", "content_id", "copy_id"]

TRACES = frozenset(
    {
        b"arc-authentication-results",
        b"arc-message-signature",
        b"arc-seal",
        b"authentication-results",
        b"delivered-to",
        b"envelope-to",
        b"received",
        b"received-spf",
        b"return-path",
        b"x-forwarded-to",
        b"x-original-to",
        b"x-received",
    }
)
LENGTH = 40


def content_id(
    raw: bytes, envelope_from: str | None = None, envelope_to: Iterable[str] = ()
) -> str:
    """Forty hexadecimal digits; the same for all copies of one mail, but for one that its way alone forbids to
    answer (an empty return path, the address of bounces). That is another mail: whoever is first with such a
    copy must not take the place of the one that a person sent and waits for."""
    # Where mail is read to have text already, no line is a trace.
    read = headers.header(raw)
    body = read.body
    head = raw[:body]
    digest = hashlib.sha256()
    told = (*envelope_to, *listed(read.fields, "delivered-to", "x-original-to"))
    if returns_nowhere(read.fields, envelope_from) or any(map(bounces_there, told)):
        digest.update(b"unanswerable\0")
    kept = True
    for line in head.split(b"\n"):
        if line[:1] not in {b" ", b"\t"}:
            kept = line.partition(b":")[0].strip().lower() not in TRACES
        if kept:
            digest.update(line.rstrip(b"\r") + b"\n")
    digest.update(memoryview(raw)[body:])
    return digest.hexdigest()[:LENGTH]


def bytes_id(raw: bytes) -> str:
    """For a mail whose header nobody gets to the end of."""
    return hashlib.sha256(raw).hexdigest()[:LENGTH]


def copy_id(raw: bytes, message_id: str, author: str, level: str) -> str:
    """What copies of a mail share to which servers or a stranger added a field that nobody signed: who is
    known by how much to have said this under that id. Spaces don't count, as they don't in most signatures
    (RFC 6376 section 3.4.4). Empty for a mail without an id."""
    if not message_id:
        return ""
    digest = hashlib.sha256("\0".join((level, author, message_id)).encode(errors="replace"))
    digest.update(b"\0" + raw[headers.header(raw).body :].translate(None, b" \t\r\n"))
    return digest.hexdigest()[:LENGTH]
