"""Mails for the tests: a header's lines become one, as it was handed over and as it was read."""

from __future__ import annotations

from channels.email.mail import Mail, RawMail
from channels.email.mime.read import read
from channels.email.reading.automated import Own
from gateway.engine.kinds import Millis
from gateway.engine.struct import replace

OURS = frozenset({"<abcdefgh234@shop.example>"})
SIGNED = frozenset({"signed-1", "signed-2"})
"""What our own field may hold: anything else has no good signature."""

OWN = Own(
    addresses=frozenset({"Support@shop.example", "bounce@shop.example"}),
    domain="shop.example",
    is_ours=OURS.__contains__,
    marked=SIGNED.__contains__,
    machines=frozenset({"scanner@example.com", "@alerts.example"}),
    lists=frozenset({"support.shop.example"}),
)
PERSON = """\
From: Customer <customer@example.com>
To: support@shop.example
Subject: Order 1042
Date: Mon, 3 Mar 2025 10:12:00 +0100
Message-ID: <1@example.com>"""


def raw_of(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode("utf-8", "surrogateescape")


def handed(raw: bytes, envelope_from: str | None = "customer@example.com") -> RawMail:
    return RawMail(raw=raw, way="lmtp", envelope_from=envelope_from, at=Millis(0))


def mail_of(raw: bytes, text: str | None = None) -> Mail:
    """As it is read; ``text``: with other words in it."""
    mail = read(raw)
    return mail if text is None else replace(mail, text=text)
