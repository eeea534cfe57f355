"""What the site's own mail servers write on top of a mail on its way in.

The order is that of Postfix with OpenDKIM and OpenDMARC before Dovecot's LMTP: the border's results stand
above its own ``Received`` and below the one of the delivery.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime

from gateway.engine.kinds import Millis
from gateway.engine.struct import struct


@dataclass(slots=True)
class Border:
    """``id`` is the authserv-id (RFC 8601 2.5) and the name in ``Received``. ``verdicts`` says what the
    check of DMARC ends with for mail that says it is from a domain; ``none`` for all others.
    ``checks=False``: a border that writes no results."""

    id: str = "mx.shop.example"
    verdicts: dict[str, str] = field(default_factory=dict[str, str])
    checks: bool = True

    def verdict(self, raw: bytes, signed_in: str = "") -> str:
        """How the check of a mail ends. Who signed in with an address of the domain speaks for it, unless
        ``verdicts`` says otherwise."""
        domain = from_domain(raw)
        usual = ("pass" if domain == signed_in else "fail") if signed_in else "none"
        return self.verdicts.get(domain, usual)


@struct(frozen=True, slots=True, kw_only=True)
class Passage:
    """How one mail came in: ``dmarc`` is how the check ended, ``client`` who handed it over."""

    sender: str
    recipient: str
    dmarc: str
    client: str
    number: int
    at: Millis


def stamped(raw: bytes, border: Border, way: Passage) -> bytes:
    """The mail as it comes to lie in the mailbox."""
    when = format_datetime(datetime.fromtimestamp(way.at / 1000, UTC))
    delivered = (
        f"Received: from {border.id} ([127.0.0.1])\r\n\tby box.{border.id} with LMTP\r\n"
        f"\tid L{way.number:06d}\r\n\tfor <{way.recipient}>; {when}"
    )
    lines = [f"Return-Path: <{way.sender}>", f"Delivered-To: {way.recipient}", delivered]
    return _on_top(lines, handed_on(raw, border, way))


def handed_on(raw: bytes, border: Border, way: Passage) -> bytes:
    """The mail as the border hands it on, by LMTP for instance."""
    when = format_datetime(datetime.fromtimestamp(way.at / 1000, UTC))
    lines = _results(border.id, way, from_domain(raw)) if border.checks else []
    lines.append(
        f"Received: from {way.client}\r\n\tby {border.id} with ESMTP id P{way.number:06d}\r\n"
        f"\tfor <{way.recipient}>; {when}"
    )
    return _on_top(lines, raw)


def _on_top(lines: list[str], raw: bytes) -> bytes:
    return "\r\n".join(lines).encode("utf-8", "replace") + b"\r\n" + raw


def from_domain(raw: bytes) -> str:
    """The domain of the first ``From``, as a border's filter reads an ordinary one."""
    for line in _header(raw):
        if line.lower().startswith(b"from:"):
            behind = line.rpartition(b"@")[2]
            return behind.split(b">")[0].strip().decode("ascii", "replace").lower()
    return ""


def _header(raw: bytes) -> list[bytes]:
    head = raw.partition(b"\r\n\r\n")[0].replace(b"\r\n ", b" ").replace(b"\r\n\t", b" ")
    return head.split(b"\r\n")


def _results(authserv_id: str, way: Passage, domain: str) -> list[str]:
    """SPF looks at the envelope alone, so a forger passes it for a domain of his own."""
    name = "Authentication-Results"
    action = "reject" if way.dmarc == "fail" else "none"
    signed = (
        f"dkim=pass header.d={domain} header.i=@{domain}" if way.dmarc == "pass" else "dkim=none"
    )
    sent_by = way.sender.rpartition("@")[2] or way.client
    return [
        f"{name}: {authserv_id}; dmarc={way.dmarc} (p={action} dis=none) header.from={domain}",
        f"{name}: {authserv_id}; spf=pass smtp.mailfrom={sent_by}",
        f"{name}: {authserv_id};\r\n\t{signed}",
    ]
