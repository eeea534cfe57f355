"""Mails as they lie in a mailbox: what our side wrote on top, what the sender wrote below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from channels.email.identity.attest import Trust, attest
from channels.email.identity.signature import Signed
from channels.email.mail import Attestation, Mail, RawMail
from channels.email.mime.headers import date, fields
from gateway.engine.kinds import Millis

NOW = Millis(1_780_315_200_000)
WHEN = "Mon, 01 Jun 2026 12:00:00 +0000"
DOMAIN = "customer.example"

TRUST = Trust(
    authserv_id="mx.shop.example",
    border_host="mx.shop.example",
    own=frozenset({"support@shop.example"}),
    vouching=frozenset({"corp.example"}),
)

PASS = f"Authentication-Results: mx.shop.example; dmarc=pass (p=none dis=none) header.from={DOMAIN}"
BORDER = (
    "Received: from out.customer.example (out.customer.example [192.0.2.7])\r\n"
    "\t(using TLSv1.3 with cipher TLS_AES_256_GCM_SHA384 (256/256 bits))\r\n"
    "\tby mx.shop.example (Postfix) with ESMTPS id 4XyZ9\r\n"
    f"\tfor <support@shop.example>; {WHEN}"
)
LMTP = f"Received: from mx.shop.example by mx.shop.example with LMTP id abc; {WHEN}"
SENT = (
    (
        "DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=customer.example; s=k1;\r\n"
        "\th=from:to:subject:date:message-id; bh=MTIz; b=MTIz"
    ),
    "Received: from laptop.customer.example by out.customer.example with ESMTPSA id 1; " + WHEN,
    "From: Ada <ada@customer.example>",
    "To: support@shop.example",
    "Subject: The parcel is broken",
    f"Date: {WHEN}",
    "Message-ID: <1@customer.example>",
    "Content-Type: text/plain",
)
"""An ordinary mail as it was sent."""


def with_line(name: str, *lines: str, sent: Sequence[str] = SENT) -> list[str]:
    """``sent`` with other lines in the place of one field."""
    out: list[str] = []
    for line in sent:
        out += lines if line.lower().startswith(f"{name.lower()}:") else [line]
    return out


def header(lines: Sequence[str | bytes]) -> bytes:
    return b"".join(
        (line if isinstance(line, bytes) else line.encode()) + b"\r\n" for line in lines
    )


def mail(lines: Sequence[str | bytes]) -> Mail:
    found = fields(header(lines) + b"\r\nHello\r\n")
    told = [date(field.value) for field in found if field.name == "date"]
    return Mail(fields=found, date=told[0] if told else None)


def handed(**more: Any) -> RawMail:
    return RawMail(**{"raw": b"", "way": "lmtp", "at": NOW, **more})


def judged(
    lines: Sequence[str | bytes],
    trust: Trust = TRUST,
    *,
    now: Millis = NOW,
    dkim: tuple[Signed, ...] = (),
    **more: Any,
) -> Attestation:
    return attest(mail(lines), handed(**more), trust, now, dkim)


def words(found: Attestation) -> list[str]:
    return [word for word, _ in found.reasons]
