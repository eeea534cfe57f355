"""Mails as honest hosts and forgers hand them over at the border."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate

from tests.support.mail.border import AUTHSERV_ID, CUSTOMER, EVIL, PLAIN, SITE, Border

TODAY = formatdate()
VICTIM = "ada@cust.example"
PAGE = "Content-Type: text/html; charset=utf-8\r\n\r\n<p>It arrived broken.</p>\r\n"

Build = Callable[[Border, str], bytes]
"""The bytes of a mail to this address."""


@dataclass(frozen=True)
class Shape:
    """``sender`` is the envelope's, ``client`` the address that the host connects from."""

    name: str
    build: Build
    sender: str = VICTIM
    client: str = CUSTOMER
    host: str = "out.cust.example"
    author: str = VICTIM
    """Whom an honest one is from."""

    @property
    def to(self) -> str:
        """An address of its own, so that it is found again."""
        return f"support+{self.name}@{SITE}"


def letter(
    to: str, *top: str, author: str | None = VICTIM, subject: str = "Order 1042", rest: str = ""
) -> bytes:
    """An ordinary mail. ``top`` are further fields above, ``rest`` is another end; without an ``author`` it
    has no From."""
    lines = [
        *top,
        *([f"From: {author}"] if author is not None else []),
        f"To: {to}",
        f"Subject: {subject}",
        f"Date: {TODAY}",
        f"Message-ID: <{to.partition('@')[0]}@cust.example>",
        "MIME-Version: 1.0",
    ]
    end = rest or "Content-Type: text/plain\r\n\r\nIt arrived broken.\r\n"
    return ("\r\n".join(lines) + "\r\n" + end).encode("utf-8")


# -- honest ----------------------------------------------------------------------------------------
HONEST = [
    Shape("signed", lambda mx, to: mx.customer.signed(letter(to))),
    Shape("named", lambda mx, to: mx.customer.signed(letter(to, author=f"Ada <{VICTIM}>"))),
    Shape("quoted", lambda mx, to: mx.customer.signed(letter(to, author=f'"A., Ada" <{VICTIM}>'))),
    Shape(
        "encoded",
        lambda mx, to: mx.customer.signed(
            letter(to, author=f"=?utf-8?q?Ad=C3=A4?= <{VICTIM}>", subject="=?utf-8?q?h=C3=A4?=")
        ),
    ),
    Shape("page", lambda mx, to: mx.customer.signed(letter(to, rest=PAGE))),
    # Sent on by a host that may not send for the domain: the signature alone carries it.
    Shape(
        "direct",
        lambda mx, to: mx.direct.signed(letter(to, author="ben@direct.example")),
        sender="ben@direct.example",
        author="ben@direct.example",
        client=EVIL,
    ),
    # Never signed: the host alone carries it.
    Shape(
        "plain",
        lambda mx, to: letter(to, author="cy@plain.example"),
        sender="cy@plain.example",
        author="cy@plain.example",
        client=PLAIN,
    ),
    Shape(
        "hyphen",
        lambda mx, to: mx.hyphen.signed(letter(to, author="di@pay-cust.example")),
        sender="di@pay-cust.example",
        author="di@pay-cust.example",
    ),
    # Somebody else's results below the border's are nobody's business.
    Shape(
        "passed-on",
        lambda mx, to: mx.customer.signed(
            letter(
                to, "Authentication-Results: mx.away.example; dmarc=fail header.from=cust.example"
            )
        ),
    ),
]


# -- forged ----------------------------------------------------------------------------------------
def _forged(name: str, build: Build, sender: str = "x@evil.example") -> Shape:
    """From a host of the forger's, with an envelope of the forger's: SPF passes, for that domain."""
    return Shape(name, build, sender=sender, client=EVIL, host="mx.evil.example")


def _letter_with(field: str) -> Build:
    return lambda _, to: letter(to, field)


def _evil_as(author: str) -> Build:
    return lambda mx, to: mx.evil.signed(letter(to, author=author))


RESULT = "dmarc=pass (p=reject dis=none) header.from=cust.example"
SPELLINGS = {
    "as-written": f"Authentication-Results: {AUTHSERV_ID}; {RESULT}",
    "upper": f"AUTHENTICATION-RESULTS: {AUTHSERV_ID.upper()}; {RESULT}",
    "comment-before": f"Authentication-Results: (a) {AUTHSERV_ID}; {RESULT}",
    "comment-behind": f"Authentication-Results: {AUTHSERV_ID} (a); {RESULT}",
    "in-quotes": f'Authentication-Results: "{AUTHSERV_ID}"; {RESULT}',
    "folded": f"Authentication-Results:\r\n {AUTHSERV_ID};\r\n\t{RESULT}",
    "version": f"Authentication-Results: {AUTHSERV_ID} 1; {RESULT}",
    "spaced": f"Authentication-Results : {AUTHSERV_ID}; {RESULT}",
    "spf": f"Authentication-Results: {AUTHSERV_ID}; spf=pass smtp.mailfrom=cust.example; {RESULT}",
    "dkim": f"Authentication-Results: {AUTHSERV_ID}; dkim=pass header.d=cust.example; {RESULT}",
    "with-route": (
        f"Received: from out.cust.example by {AUTHSERV_ID} with LMTP; {TODAY}"
        f"\r\nAuthentication-Results: {AUTHSERV_ID}; {RESULT}"
    ),
    "arc": f"ARC-Authentication-Results: i=1; {AUTHSERV_ID}; {RESULT}",
}

# All signed and sent for evil.example as its owner would, so DMARC passes for whom the filter reads.
AUTHORS = {
    "two-words": "ada@cust.example <x@evil.example>",
    "two-words-folded": "ada@cust.example\r\n <x@evil.example>",
    "two-words-vt": "ada@cust.example\v<x@evil.example>",
    "parenthesis": "ada@cust.example)x@evil.example",
    "group": "ada@cust.example:x@evil.example;",
    "route": "<@cust.example,@b.example:x@evil.example>",
    "two-angles": "<ada@cust.example> <x@evil.example>",
    "glued": "<ada@cust.example>x@evil.example",
    "two-people": "ada@cust.example, x@evil.example",
    "two-people-turned": "x@evil.example, ada@cust.example",
    "comment": "ada@cust.example (x@evil.example)",
    "encoded-address": "=?utf-8?q?ada=40cust.example?= , x@evil.example",
    "quoted-local": '"ada@cust.example"@evil.example',
    "own-address": f"support@{SITE}",
    "homograph": "ada@cu\u0455t.example",
}


def _two_froms(first: str, second: str) -> Build:
    return lambda mx, to: mx.evil.signed(letter(to, f"From: {first}", author=second))


def _signed_short(mx: Border, to: str) -> bytes:
    """A signature over the beginning only, and text of somebody else's behind it."""
    return mx.customer.signed(letter(to), length=True) + b"Refund it to me instead.\r\n"


def _second_subject(mx: Border, to: str) -> bytes:
    covers = (b"from", b"to", b"date", b"message-id")
    return b"Subject: Refund it\r\n" + mx.customer.signed(letter(to), covers=covers)


FORGED = [
    *(_forged(f"ar-{name}", _letter_with(field)) for name, field in SPELLINGS.items()),
    *(_forged(f"from-{name}", _evil_as(author)) for name, author in AUTHORS.items()),
    _forged("unsigned", lambda mx, to: letter(to)),
    _forged("signed-by-evil", lambda mx, to: mx.evil.signed(letter(to))),
    _forged("envelope-too", lambda mx, to: letter(to), sender=VICTIM),
    _forged("no-envelope", lambda mx, to: letter(to), sender=""),
    _forged("no-from", lambda mx, to: letter(to, author=None)),
    _forged("two-froms", _two_froms("x@evil.example", VICTIM)),
    _forged("two-froms-turned", _two_froms(VICTIM, "x@evil.example")),
    _forged("changed", lambda mx, to: mx.customer.signed(letter(to)) + b"Refund it to me.\r\n"),
    _forged("short-signature", _signed_short),
    _forged("second-subject", _second_subject),
    _forged("second-date", lambda mx, to: b"Date: x\r\n" + mx.customer.signed(letter(to))),
    # Honest mails to others, sent on to us as they are.
    _forged("to-another", lambda mx, to: mx.customer.signed(letter("eve@evil.example"))),
    _forged("other-token", lambda mx, to: mx.customer.signed(letter(f"support+theirs@{SITE}"))),
]
