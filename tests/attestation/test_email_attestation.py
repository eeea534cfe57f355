"""What the gateway believes of mails that went through a real border."""

from __future__ import annotations

import time

import pytest

from channels.email.identity.attest import Trust, attest
from channels.email.identity.dkim import check
from channels.email.identity.signature import Signed
from channels.email.mail import Attestation, RawMail
from channels.email.mime.read import read
from gateway.engine.kinds import Millis
from tests.attestation.conftest import Played
from tests.attestation.shapes import FORGED, HONEST, Shape
from tests.support.mail.border import AUTHSERV_ID, SUPPORT, needs_border

pytestmark = [pytest.mark.mail, needs_border]

OWN = frozenset({SUPPORT})
TRUST = Trust(authserv_id=AUTHSERV_ID, border_host=AUTHSERV_ID, own=OWN)
NO_BORDER = Trust(own=OWN)
CARRIED_BY_HOST = {"plain"}
"""Never signed, so without the border's word nothing speaks for it."""


def believed(
    shape: Shape, raw: bytes, trust: Trust = TRUST, dkim: tuple[Signed, ...] = ()
) -> Attestation:
    now = Millis(time.time_ns() // 1_000_000)
    handed = RawMail(
        raw=raw, way="lmtp", envelope_from=shape.sender, envelope_to=(shape.to,), at=now
    )
    return attest(read(raw), handed, trust, now, dkim)


def test_an_honest_mail_is_its_domains(played: Played) -> None:
    found = {shape: believed(shape, played.mails[shape.name]) for shape in HONEST}
    assert {shape.name: _said(one) for shape, one in found.items()} == {
        shape.name: ("domain", shape.author, "dmarc", AUTHSERV_ID) for shape in HONEST
    }


def test_a_forged_mail_is_nobodys(played: Played) -> None:
    found = {shape.name: believed(shape, played.mails[shape.name]) for shape in FORGED}
    assert {name: one.level for name, one in found.items()} == dict.fromkeys(found, "none")
    assert all(one.reasons for one in found.values())


async def test_a_signature_checked_here_says_the_same(played: Played) -> None:
    async def resolve(name: str) -> bytes | None:
        return played.records.get(name.rstrip("."))

    found: dict[str, str] = {}
    for shape in (*HONEST, *FORGED):
        raw = played.mails[shape.name]
        found[shape.name] = believed(shape, raw, NO_BORDER, await check(raw, resolve)).level
    signed = {shape.name for shape in HONEST} - CARRIED_BY_HOST
    assert found == {name: "domain" if name in signed else "none" for name in found}


def test_who_reads_a_pass_alone_would_have_been_fooled(played: Played) -> None:
    """Or these shapes would prove nothing."""
    fooled = {shape.name for shape in FORGED if b"dmarc=pass" in played.mails[shape.name]}
    assert {
        *("ar-as-written", "ar-upper", "ar-in-quotes", "ar-folded"),
        *("from-two-words", "from-parenthesis", "from-group"),
        *("short-signature", "second-subject", "to-another", "other-token"),
    } <= fooled


def _said(found: Attestation) -> tuple[str, str, str, str]:
    address = found.author.address if found.author is not None else ""
    return found.level, address, found.method, found.by
