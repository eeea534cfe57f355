"""What each way of mail does with a mail: hand it over whole, and learn what became of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

from channels.email.mail import RawMail
from channels.email.mime.limits import HEADER, RAW

__all__ = ["MAX_HEADER", "MAX_MAIL", "Take", "Taken", "capped", "plain"]

Taken = Literal["done", "quarantine", "again"]
"""All that follows from it is kept; the same, and a person should look at it; it couldn't be kept now."""
Take = Callable[[RawMail], Awaitable[Taken]]
"""Raises ``StoreUnavailableError`` while nothing can be kept: it is ``again`` for this mail and all
behind it."""

MAX_MAIL = RAW
"""A longer one isn't read: its header is handed over, and how long it is."""
MAX_HEADER = HEADER

_WORDS = 200


def capped(raw: bytes) -> tuple[bytes, int | None]:
    """``raw`` and ``whole`` of a ``RawMail``."""
    if len(raw) <= MAX_MAIL:
        return raw, None
    head = raw[:MAX_HEADER]
    ends = [at + len(end) for end in (b"\r\n\r\n", b"\n\n") if (at := head.find(end)) >= 0]
    return head[: min(ends, default=len(head))], len(raw)


def plain(said: object) -> str:
    """What a server said, for a person's screen: one line, no control characters, not long."""
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    line = "".join(c if c.isprintable() else " " for c in text[: 4 * _WORDS])
    return " ".join(line.split())[:_WORDS]
