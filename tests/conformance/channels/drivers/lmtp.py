"""Handing a mail over by LMTP, and reading one."""

from __future__ import annotations

import email
import smtplib
import socket

NOT_RECEIVED = 0.5
"""Seconds that the site's server waits for an answer."""


def handed_over(port: int, sender: str, to: str, raw: bytes) -> bool:
    """Whether whoever listens there says that it has the mail."""
    try:
        with smtplib.LMTP("127.0.0.1", port, "mx.shop.example", timeout=NOT_RECEIVED) as line:
            return line.sendmail(sender, to, raw) == {}
    except (smtplib.SMTPException, OSError):
        return False


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def shown(raw: bytes) -> str:
    """What a mail program shows: lines that end in a space go on (RFC 3676)."""
    message = email.message_from_bytes(raw)
    plain = next(part for part in message.walk() if part.get_content_type() == "text/plain")
    body = plain.get_payload(decode=True)
    assert isinstance(body, bytes)
    return body.decode().replace("\r\n", "\n").replace(" \n", " ").strip()
