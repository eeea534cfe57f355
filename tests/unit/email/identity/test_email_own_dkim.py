"""Signatures checked here: real keys, a real signer, and what must not pass for signed."""

from __future__ import annotations

import asyncio
import base64
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dkim  # type: ignore[import-untyped]
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from channels.email.identity.attest import Trust, attest
from channels.email.identity.dkim import MAX_SIGNATURES, Signed, check
from channels.email.identity.layout import declares
from channels.email.mail import Attestation
from gateway.engine.kinds import Millis
from gateway.engine.struct import replace
from tests.unit.email.identity.mails import (
    BORDER,
    NOW,
    PASS,
    SENT,
    TRUST,
    handed,
    header,
    mail,
    with_line,
    words,
)

LINES = [line for line in SENT if not line.startswith(("DKIM", "Received"))]
BODY = b"My parcel  is broken.\t\r\n\r\nAda \r\n\r\n\r\n"
NAMES = ("from", "to", "subject", "date", "message-id", "content-type")
ALONE = replace(TRUST, authserv_id=None, border_host=None)
"""Nothing is believed that a server wrote."""


@functools.cache
def _key(exponent: int = 65537) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(exponent, 1024)  # noqa: S505 - the least that may pass


def record(extra: bytes = b"", key: rsa.RSAPrivateKey | None = None) -> bytes:
    public = (key or _key()).public_key()
    packed = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return b"v=DKIM1; k=rsa; " + extra + b"p=" + base64.b64encode(packed)


def signed(
    lines: Sequence[str] = LINES,
    body: bytes = BODY,
    names: Sequence[str] = NAMES,
    domain: str = "customer.example",
    form: tuple[bytes, bytes] = (b"relaxed", b"relaxed"),
    **more: Any,
) -> bytes:
    raw = header(lines) + b"\r\n" + body
    pem = _key().private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    included = [name.encode() for name in names]
    signer = dkim.DKIM(raw, signature_algorithm=more.pop("algorithm", b"rsa-sha256"))
    line: bytes = signer.sign(
        b"k1", domain.encode(), pem, canonicalize=form, include_headers=included, **more
    )
    return line + raw


class Names:
    """TXT records; counts what is asked."""

    def __init__(self, known: Mapping[str, bytes] | None = None, *, fails: bool = False) -> None:
        self.known = {"k1._domainkey.customer.example": record()} if known is None else known
        self.fails = fails
        self.asked: list[str] = []

    async def __call__(self, name: str) -> bytes | None:
        self.asked.append(name)
        if self.fails:
            raise TimeoutError
        return self.known.get(name)


async def why(raw: bytes, names: Names | None = None) -> list[str]:
    return [one.why for one in await check(raw, names or Names())]


async def judged(raw: bytes, trust: Trust = ALONE, names: Names | None = None) -> Attestation:
    found = await check(raw, names or Names())
    lines = raw.partition(b"\r\n\r\n")[0].split(b"\r\n")
    return await asyncio.to_thread(attest, mail(lines), handed(raw=raw), trust, NOW, found)


@pytest.mark.parametrize("form", [(b"relaxed", b"relaxed"), (b"simple", b"simple")])
@pytest.mark.parametrize(
    "body", [BODY, b"", b"\r\n\r\n", b"no end", b"a\n\nb\n \n", b" \t x  \r\n\t\r\n"]
)
async def test_what_a_signer_signed_holds(form: tuple[bytes, bytes], body: bytes) -> None:
    found = await judged(signed(form=form, body=body))
    assert (found.level, found.method, found.by) == ("domain", "dkim", "dkim")


async def test_what_relays_may_change_changes_nothing() -> None:
    raw = signed().replace(b"broken.\t", b"broken. ").replace(b"Subject: The", b"subject:  The")
    assert await why(raw) == [""]
    assert await why(b"X-Added: 1\r\nReceived: x\r\n" + raw) == [""]


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: signed().replace(b"broken", b"whole"), "body_changed"),
        (lambda: signed() + b"more", "body_changed"),
        (lambda: signed().replace(b"The parcel", b"A parcel"), "header_changed"),
        (lambda: signed().replace(b"text/plain", b"text/html"), "header_changed"),
        (lambda: b"From: eve@evil.example\r\n" + signed(), "header_changed"),
        (lambda: signed(length=True) + b"more", "partial"),
        (lambda: signed(algorithm=b"rsa-sha1"), "algorithm"),
        (lambda: signed(names=[name for name in NAMES if name != "to"]), "unsigned_field"),
        (
            lambda: signed(names=[name for name in NAMES if name != "subject"]).replace(b"The", b"A"),
            "unsigned_field",
        ),
        (lambda: signed(names=NAMES[:-1]).replace(b"text/plain", b"text/html"), "unsigned_type"),
        (lambda: signed(with_line("Content-Type", sent=LINES), names=NAMES[:-1]), ""),
        (lambda: b"Content-Type: text/html\r\n" + signed(LINES[:-1], names=NAMES[:-1]), "unsigned_type"),
        (lambda: b"Content-Type: text/html\r\n" + signed(), "unsigned_type"),
        (lambda: b"Content-Transfer-Encoding: base64\r\n" + signed(), "unsigned_type"),
        (lambda: signed().replace(b"s=k1", b"s=k2"), "no_key"),
        (lambda: signed().replace(b"s=k1", b"s=k/1"), "unreadable"),
        (lambda: signed().replace(b"d=customer.example", b"d=customer"), "unreadable"),
        (lambda: signed().replace(b"s=k1", b"s=k1; s=k1"), "unreadable"),
        (lambda: signed().replace(b"; s=k1", b"; s=k1;" + b" " * 200), "unreadable"),
    ],
)  # fmt: skip
async def test_a_signature_that_doesnt_hold_says_why(make: Callable[[], bytes], word: str) -> None:
    raw = make()
    assert await why(raw) == [word]
    if word:
        found = await judged(raw)
        assert found.level == "none"
        assert (
            f"dkim_{word}" in words(found) or "length_tag" in words(found) or found.author is None
        )


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (record, ""),
        (lambda: record(b"s=email; h=sha256; "), ""),
        (lambda: record(b"t=y; "), "testing"),
        (lambda: record(b"t=s:y; "), "testing"),
        (lambda: record(b"s=tlsrpt; "), "key"),
        (lambda: record(b"h=sha1; "), "key"),
        (lambda: record(key=_key(3)), "header_changed"),
        (lambda: b"v=DKIM1; p=", "key"),
        (lambda: b"v=DKIM2; " + record()[10:], "key"),
        (lambda: b"v=DKIM1; k=ed25519; p=MTIz", "key"),
        (lambda: b"", "key"),
        (lambda: b"\xff", "key"),
        (lambda: record(b"n=" + b"x" * 2000 + b"; "), "key"),
        # 512 bits
        (
            lambda: b"p=MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAL" + b"8" * 84 + b"w0CAwEAAQ==",
            "key",
        ),
    ],
)
async def test_a_key_must_be_good(make: Callable[[], bytes], word: str) -> None:
    assert await why(signed(), Names({"k1._domainkey.customer.example": make()})) == [word]


async def test_a_key_for_its_own_domain_only_signs_no_other() -> None:
    names = Names({"k1._domainkey.customer.example": record(b"t=s; ")})
    assert await why(signed(identity=b"@customer.example"), names) == [""]
    assert await why(signed(identity=b"@mail.customer.example"), names) == ["key"]


async def test_look_ups_are_few_and_may_fail() -> None:
    names = Names(fails=True)
    assert await why(signed(), names) == ["unreachable"]
    line = signed().partition(b"\r\nFrom:")[0] + b"\r\n"
    names = Names()
    found = await why(line * 20 + signed(), names)
    assert len(found) == MAX_SIGNATURES
    assert names.asked == ["k1._domainkey.customer.example"]
    names = Names()
    await check(signed(length=True), names)
    assert names.asked == []


async def test_any_of_several_signatures_will_do() -> None:
    good = signed()
    other = signed(domain="relay.example").partition(b"From:")[0]
    broken = good.partition(b"From:")[0].replace(b"bh=", b"bh=AAAA")
    found = await judged(other + broken + good)
    assert (found.level, found.method) == ("domain", "dkim")


@pytest.mark.parametrize(
    "make",
    [
        lambda: b"",
        lambda: b"\r\n",
        lambda: b"DKIM-Signature: v=1",
        lambda: b" folded: from the start\r\n",
        lambda: signed().replace(b"Subject", b"no field\r\nSubject"),
        lambda: signed().replace(b"Subject:", b"X: a\rSubject:"),
        lambda: signed().replace(b"Subject:", b"X: a\0\r\nSubject:"),
        lambda: signed().replace(b"Subject:", b"Subject :"),
        lambda: b"From x@y Mon\r\n" + signed(),
        lambda: signed().replace(b"Subject:", b"X: " + b"\r\n y" * 20_000 + b"\r\nSubject:"),
        lambda: signed().replace(b"Subject:", b"X: y\r\n" * 2_000 + b"Subject:"),
    ],
)
async def test_a_header_that_programs_part_differently_has_no_signature(
    make: Callable[[], bytes],
) -> None:
    assert all(await why(make()))


# -- alignment, deadlines, recipients ------------------------------------------------------------------
async def test_alignment_is_strict_unless_relaxed() -> None:
    raw = signed(domain="mail.customer.example")
    names = Names({"k1._domainkey.mail.customer.example": record()})
    found = await judged(raw, names=names)
    assert (found.level, words(found)) == ("none", ["border_not_set", "dkim_not_aligned"])
    assert (await judged(raw, replace(ALONE, relaxed=True), names)).level == "domain"


@pytest.mark.parametrize(
    ("author", "signer"),
    [
        ("a.github.io", "b.github.io"),
        ("cust.example", "evil.example"),
        ("example.my-bank.com", "example.my"),
        ("pay-co.com", "co.com"),
        ("customer.example", "example"),
    ],
)
def test_no_strangers_are_aligned(author: str, signer: str) -> None:
    lines = with_line("From", f"From: ada@{author}", sent=LINES)
    one = Signed(domain=signer, covers=frozenset(NAMES))
    found = attest(mail(lines), handed(), replace(ALONE, relaxed=True), NOW, (one,))
    assert (found.level, words(found)[-1]) == ("none", "dkim_not_aligned")


GOOD = Signed(domain="customer.example", covers=frozenset(NAMES))


@pytest.mark.parametrize(
    ("lines", "one", "word"),
    [
        (LINES, GOOD, ""),
        (LINES, replace(GOOD, expires=Millis(NOW + 1)), ""),
        (LINES, replace(GOOD, expires=Millis(NOW - 1)), "dkim_expired"),
        # one that was sent to somebody else, with a Cc added that names us
        (
            [*with_line("To", "To: eve@evil.example", sent=LINES), "Cc: support@shop.example"],
            GOOD,
            "dkim_recipient_unsigned",
        ),
        ([PASS.replace("=pass", "=fail"), BORDER, *LINES], GOOD, "dmarc_not_pass"),
        ([PASS.replace("customer", "evil"), BORDER, *LINES], GOOD, "dmarc_other_domain"),
        ([PASS, PASS, BORDER, *LINES], GOOD, "dmarc_repeated"),
        ([PASS.replace("=pass", "=none"), BORDER, *LINES], GOOD, ""),
        ([PASS.replace("=pass", "=temperror"), BORDER, *LINES], GOOD, ""),
        ([BORDER, *LINES], GOOD, ""),
        ([*LINES, "Subject: two"], GOOD, "field_repeated"),
        ([*LINES, "List-Id: x"], GOOD, "list"),
    ],
)
def test_a_signature_of_ours_to_judge(lines: list[str], one: Signed, word: str) -> None:
    found = attest(mail(lines), handed(), TRUST, NOW, (one,))
    assert found.level == ("none" if word else "domain")
    if word:
        assert word in words(found)


def test_the_way_must_cover_the_mail_all_the_same() -> None:
    found = attest(mail(LINES), handed(covered=False), ALONE, NOW, (GOOD,))
    assert (found.level, words(found)) == ("none", ["way_not_covered"])


# -- a body that says how it is read -----------------------------------------------------------------------
PARTS = b"--b1\r\nContent-Type: text/plain\r\n\r\nHello\r\n--b1--\r\n"


@pytest.mark.parametrize(
    ("content_type", "body", "holds"),
    [
        (b' multipart/alternative; boundary="b1"', PARTS, True),
        (b" multipart/mixed;\r\n\tboundary=b1;", b"\r\n" + PARTS, True),
        (b' multipart/alternative; boundary="b2"', PARTS, False),
        (b" text/plain; boundary=b1", PARTS, False),
        (b" text/html", PARTS, False),
        (b" multipart/mixed", PARTS, False),
        (b" multipart/mixed; boundary=b1; boundary=b2", PARTS, False),
        (b' multipart/mixed; boundary="b1', PARTS, False),
        (b" multipart/mixed; boundary=b1", b"Hello\r\n" + PARTS, False),
        (b" multipart/mixed; boundary=b1", PARTS + b"Hello", False),
        (b" multipart/mixed; boundary=b", PARTS, False),
        (b' multipart/mixed; boundary=""', b"--\r\n\r\n----", False),
    ],
)
def test_a_body_may_say_itself_where_its_parts_are(
    content_type: bytes, body: bytes, holds: bool
) -> None:
    assert declares(content_type, body) is holds


async def test_a_signer_that_leaves_the_type_out_is_believed_where_the_body_tells() -> None:
    lines = with_line(
        "Content-Type", "Content-Type: multipart/alternative; boundary=b1", sent=LINES
    )
    raw = signed(lines, PARTS, names=NAMES[:-1])
    assert (await judged(raw)).level == "domain"
    assert await why(raw.replace(b"multipart/alternative", b"text/html")) == ["unsigned_type"]


async def test_blanks_and_folds_cost_no_more_than_other_bytes() -> None:
    """Each was quadratic in a library that reads it; a run that never ends is stopped by the clock."""
    spaces = signed(body=b"x\r\n").replace(b"\r\n\r\nx", b"\r\n\r\n" + b" " * 3_000_000 + b"x")
    assert await why(spaces) == ["body_changed"]
    folded = signed().replace(b"; s=k1", b"; s=k1;" + b"\r\n " * 2_000)
    assert await why(folded) == ["unreadable"]
