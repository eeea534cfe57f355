"""What makes two mails the same one: everything but the traces of their ways.

A mail that reaches two of our addresses, or that a server hands out a second time under a new number, comes
with other trace fields (RFC 5321 section 4.4, RFC 8601) and is still one mail. Its Message-ID alone doesn't
say so: some have none, and anybody may use another's. Pure.
"""

from __future__ import annotations

import hashlib

__all__ = ["content_id"]

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


def content_id(raw: bytes) -> str:
    """Forty hexadecimal digits; the same for all copies of one mail."""
    head, gap, body = _halves(raw)
    digest = hashlib.sha256()
    kept = True
    for line in head.split(b"\n"):
        if line[:1] not in {b" ", b"\t"}:
            kept = line.partition(b":")[0].strip().lower() not in TRACES
        if kept:
            digest.update(line.rstrip(b"\r") + b"\n")
    digest.update(gap)
    digest.update(body)
    return digest.hexdigest()[:LENGTH]


def _halves(raw: bytes) -> tuple[bytes, bytes, memoryview]:
    """The header, that there is a body, and the body."""
    ends = [(at, len(gap)) for gap in (b"\r\n\r\n", b"\n\n") if (at := raw.find(gap)) >= 0]
    if not ends:
        return raw, b"", memoryview(b"")
    at, length = min(ends)
    return raw[:at], b"\n", memoryview(raw)[at + length :]
