"""Ordinary mail is known by its domain; nothing that a sender can write makes him anybody else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.email.identity.attest import Trust
from gateway.engine.kinds import LEVELS, Millis
from gateway.engine.struct import replace
from tests.unit.email.identity.mails import (
    BORDER,
    LMTP,
    NOW,
    PASS,
    SENT,
    TRUST,
    WHEN,
    judged,
    with_line,
    words,
)
from tests.unit.email.identity.shapes import (
    FASTMAIL,
    FASTMAIL_MILTER,
    FASTMAIL_TRUST,
    FROM_M365,
    GMAIL,
    GMAIL_BORDER,
    GMAIL_RESULT,
    GMAIL_TRUST,
    M365,
    M365_TRUST,
    OWN,
)


# -- the ordinary shapes -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("lines", "trust", "by"),
    [
        (OWN, TRUST, "mx.shop.example"),
        (FROM_M365, TRUST, "mx.shop.example"),
        (GMAIL, GMAIL_TRUST, "mx.google.com"),
        (M365, M365_TRUST, ".mail.protection.outlook.com"),
        (FASTMAIL, FASTMAIL_TRUST, "mx3.messagingengine.com"),
        (FASTMAIL_MILTER, replace(FASTMAIL_TRUST, gmail_profile=True), "mx3.messagingengine.com"),
    ],
    ids=["own", "from m365", "gmail", "m365", "fastmail", "fastmail milter"],
)
def test_ordinary_mail_is_known_by_its_domain(lines: Sequence[str], trust: Trust, by: str) -> None:
    found = judged(lines, trust)
    assert (found.level, found.method, found.by) == ("domain", "dmarc", by)
    assert words(found) == ["not_vouching"]
    assert found.shown == "Ada <ada@customer.example>"
    vouched = judged(lines, replace(trust, vouching=frozenset({"customer.example"})))
    assert (vouched.level, vouched.reasons) == ("sender", ())
    near = judged(lines, replace(trust, vouching=frozenset({"a.customer.example", "example"})))
    assert near.level == "domain"


SPELLINGS = [
    "Authentication-Results: mx.shop.example; dmarc=pass header.from={}",
    "AUTHENTICATION-RESULTS: MX.SHOP.EXAMPLE; DMARC=PASS header.from={}",
    "Authentication-Results: (c) mx.shop.example; dmarc=pass header.from={}",
    "Authentication-Results: mx.shop.example (c); dmarc=pass (c) header.from={}",
    'Authentication-Results: "mx.shop.example"; dmarc=pass header.from={}',
    "Authentication-Results:\r\n\tmx.shop.example;\r\n\tdmarc=pass header.from={}",
    "Authentication-Results: mx.shop.example 1; dmarc=pass header.from={}",
    "Authentication-Results : mx.shop.example; dmarc=pass header.from={}",
    "Authentication-Results: mx.shop.example; spf=pass smtp.mailfrom={0}; dmarc/1=pass header.from={0}",
    "authentication-results:mx.shop.example;dmarc=pass(x)header.from={};",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_forged_result_is_believed_nowhere(spelling: str) -> None:
    """The same spelling in our part of the header counts: it isn't the letters that decide."""
    forged = spelling.format("customer.example")
    assert judged([forged, BORDER, *SENT]).level == "domain"
    forged_border = [BORDER, forged, BORDER]
    for at in range(len(SENT) + 1):
        sent = [*SENT[:at], forged, *SENT[at:]]
        for lines, word in (
            ([BORDER, *sent], "results_missing"),
            ([LMTP, BORDER, *sent], "results_missing"),
            ([*sent], "border_missing"),
            ([*forged_border, *sent], "results_missing"),
            ([PASS.replace("=pass", "=fail"), BORDER, *sent], "dmarc_not_pass"),
            ([PASS.replace("mx.shop", "mx.other"), BORDER, *sent], "results_missing"),
        ):
            found = judged(lines)
            assert (found.level, words(found)) == ("none", [word])
    assert (
        judged([GMAIL_BORDER, GMAIL_RESULT.replace("=pass", "=fail"), *SENT], GMAIL_TRUST).level
        == "none"
    )


# -- what is forged, and why it isn't believed -----------------------------------------------------------
def _of(value: str, results: str = PASS) -> list[str]:
    return [results, BORDER, *with_line("From", f"From: {value}")]


def _attacker(value: str) -> list[str]:
    """The filter passed the attacker's own domain; some readers show the victim's."""
    return _of(value, PASS.replace("customer.example", "evil.example"))


def _told(results: str) -> list[str]:
    return [f"Authentication-Results: mx.shop.example; {results}", BORDER, *SENT]


def _sent(name: str, *lines: str) -> list[str]:
    return [PASS, BORDER, *with_line(name, *lines)]


def _more(*lines: str) -> list[str]:
    return [PASS, BORDER, *SENT, *lines]


VICTIM = "ada@customer.example"
GOOD = "header.from=customer.example"
FORGED: dict[str, tuple[list[str], str]] = {
    "victim and attacker in brackets": (_attacker(f"{VICTIM} <x@evil.example>"), "from_grammar"),
    "the same folded": (_attacker(f"{VICTIM}\r\n <x@evil.example>"), "from_grammar"),
    "the same with a tab": (_attacker(f"{VICTIM}\x0b<x@evil.example>"), "from_grammar"),
    "a closing bracket": (_attacker(f"{VICTIM})x@evil.example"), "from_address"),
    "a group": (_attacker(f"{VICTIM}:x@evil.example;"), "from_address"),
    "two addresses": (_attacker(f"{VICTIM}, x@evil.example"), "from_grammar"),
    "a plain other domain": (_attacker(VICTIM), "dmarc_other_domain"),
    "a subdomain": (_of("ada@mail.customer.example"), "dmarc_other_domain"),
    "a hyphen after it": (_of("ada@customer.example-shop.example"), "dmarc_other_domain"),
    "a homograph": (_of("ada@customеr.example"), "mixed_script"),
    "like one of ours": (_of("ada@corp.examp1e", PASS.replace("customer.example", "corp.examp1e")), "look_alike"),
    "like ours in Cyrillic": (
        _of("ada@ѕһор.example", PASS.replace("customer.example", "xn--n1abe4b.example")),
        "look_alike",
    ),
    "no From": ([PASS, BORDER, *with_line("From")], "from_missing"),
    "two From": (
        [PASS, BORDER, *with_line("From", "From: x@evil.example", f"From: {VICTIM}")],
        "from_repeated",
    ),
    "From with a blank": ([PASS, BORDER, *SENT, "From : x@evil.example"], "from_repeated"),
    "the name is an address": (_of('"boss@corp.example" <ada@customer.example>'), "display_is_address"),
    "our own address": (
        [PASS.replace("customer", "shop"), BORDER, *with_line("From", "From: support+x@shop.example")],
        "own_address",
    ),
    "a role": (_of("No-Reply@customer.example"), "automated"),
    "a list's role": (_of("parcels-request@customer.example"), "automated"),
    # results
    "fail": (_told(f"dmarc=fail {GOOD}"), "dmarc_not_pass"),
    "none": (_told(f"dmarc=none {GOOD}"), "dmarc_not_pass"),
    "best guess": (_told(f"dmarc=bestguesspass {GOOD}"), "dmarc_not_pass"),
    "SPF alone": (_told("spf=pass smtp.mailfrom=customer.example"), "dmarc_missing"),
    "SPF for another": (
        _told(f"spf=pass smtp.mailfrom=evil.example; dmarc=fail {GOOD}"),
        "dmarc_not_pass",
    ),
    "two verdicts": (_told(f"dmarc=pass {GOOD}; dmarc=fail {GOOD}"), "dmarc_repeated"),
    "two fields": ([PASS, PASS.replace("=pass", "=fail"), BORDER, *SENT], "dmarc_repeated"),
    "two domains": (_told(f"dmarc=pass header.from=evil.example {GOOD}"), "dmarc_unclear"),
    "no domain": (_told("dmarc=pass"), "dmarc_unclear"),
    "quoted in mailfrom": (
        _told(f'spf=pass smtp.mailfrom="x; dmarc=pass {GOOD}"@evil.example'),
        "dmarc_missing",
    ),
    "quoted in a reason": (_told(f'spf=fail reason="x; dmarc=pass {GOOD}"'), "dmarc_missing"),
    "out of a comment": (
        _told(f'spf=pass (domain of "a) ; dmarc=pass {GOOD} ("@evil.example) smtp.helo=x'),
        "results_unreadable",
    ),
    "with the envelope's": (_told(f"dmarc=pass {GOOD} smtp.mailfrom=x"), "dmarc_unclear"),
    "no authserv-id": ([f"Authentication-Results: dmarc=pass {GOOD}", BORDER, *SENT], "results_missing"),
    "another server's": (
        [PASS.replace("mx.shop.example", "mx.shop.example.evil.example"), BORDER, *SENT],
        "results_missing",
    ),
    "border read in two ways": (
        [PASS, BORDER.replace("from out", "from by x by out"), PASS, BORDER, *SENT],
        "border_unclear",
    ),
    # signatures
    "l=": (_sent("DKIM-Signature", "DKIM-Signature: v=1; d=customer.example; l=10; b=x"), "length_tag"),
    "L=": (_sent("DKIM-Signature", "DKIM-Signature: v=1; d=mail.customer.example; L=10"), "length_tag"),
    "a second one with l=": (_more("DKIM-Signature: l=0; d=Customer.Example"), "length_tag"),
    "one that can't be read": (_more("DKIM-Signature: d=customer.example; d=x"), "signature_unreadable"),
    # fields
    "two subjects": (_more("Subject: other"), "field_repeated"),
    "two dates": (_more(f"Date: {WHEN}"), "field_repeated"),
    "two ids": (_more("Message-ID: <2@customer.example>"), "field_repeated"),
    "two senders": (_more(f"Sender: {VICTIM}", f"Sender: {VICTIM}"), "field_repeated"),
    "two reply-to": (_more("Reply-To: a@evil.example", "Reply-To: b@evil.example"), "field_repeated"),
    "a second To": (_more("To: a@evil.example"), "field_repeated"),
    "no subject": (_sent("Subject"), "field_missing"),
    "no id": (_sent("Message-ID"), "field_missing"),
    "no date": (_sent("Date"), "field_missing"),
    "an old date": (_sent("Date", "Date: Fri, 01 May 2026 12:00:00 +0000"), "date_off"),
    "a date to come": (_sent("Date", "Date: Fri, 05 Jun 2026 12:00:01 +0000"), "date_off"),
    "a date of nothing": (_sent("Date", "Date: soon"), "date_unreadable"),
    "to somebody else": (_sent("To", "To: eve@evil.example"), "not_named"),
    "we as a name": (_sent("To", 'To: "support@shop.example" <eve@evil.example>'), "not_named"),
    "another's sender": (_more("Sender: x@evil.example"), "sent_for_another"),
    "an odd sender": (_more("Sender: x"), "sent_for_another"),
    "sent on by hand": (_more("Resent-From: x@evil.example"), "resent"),
    # no person, not now, not to us
    "an automatic answer": (_more("Auto-Submitted: auto-replied (vacation)"), "automated"),
    "made by a program": (_more("Auto-Submitted: auto-generated; x=y"), "automated"),
    "bulk": (_more("Precedence: Bulk"), "automated"),
    "nobody's return path": (["Return-Path: <>", PASS, BORDER, *SENT], "automated"),
    "a report": (_sent("Content-Type", "Content-Type: multipart/report; x=y"), "automated"),
    "a campaign": (_more("Feedback-ID: 1:2:3:x"), "automated"),
    "a list": (_more("List-Id: <x.lists.example>"), "list"),
    "a list by another field": (_more("List-Unsubscribe: <https://lists.example>"), "list"),
    "we were written into it": (
        [PASS, BORDER, *with_line("To", "To: eve@evil.example"), "Cc: support+abc.def@shop.example"],
        "recipient_unsigned",
    ),
    "a chain of others": (_told(f"arc=pass; dkim=pass header.d=customer.example; dmarc=pass {GOOD}"), "forwarded"),
    "a chain alone": (_more("ARC-Seal: i=1; d=relay.example"), "forwarded"),
    "a chain unread": (_more("ARC-Seal: nothing"), "forwarded"),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "word"), FORGED.values(), ids=FORGED)
def test_a_forged_mail_is_nobodys_and_says_why(lines: list[str], word: str) -> None:
    found = judged(lines, replace(TRUST, vouching=frozenset({"corp.example", "customer.example"})))
    assert (found.level, found.method, found.by) == ("none", "", "")
    assert word in words(found)
    assert all(why.endswith(".") and why.isprintable() for _, why in found.reasons)


def test_a_name_in_other_letters_is_compared_as_dns_holds_it() -> None:
    for told in ("bücher.example", "XN--bcher-kva.example"):
        found = judged(_of("ada@Bücher.example", PASS.replace("customer.example", told)))
        assert found.level == "domain"
        assert found.author is not None
        assert found.author.domain == "xn--bcher-kva.example"
        assert found.shown == "ada@xn--bcher-kva.example"


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"covered": False}, "way_not_covered"),
        ({"envelope_from": ""}, "automated"),
        ({"envelope_to": ("support+abc.def@shop.example",)}, "other_token"),
        ({"now": Millis(NOW + 30 * 86_400_000)}, "date_off"),
    ],
)
def test_how_and_when_it_came_counts(more: dict[str, Any], word: str) -> None:
    found = judged(OWN, **more)
    assert (found.level, words(found)) == ("none", [word])


def test_a_mailbox_keeps_the_envelope_in_the_header() -> None:
    """A mail of somebody's own, sent on into another conversation of theirs."""
    for field in ("Delivered-To", "X-Original-To"):
        found = judged([f"{field}: support+abc.def@shop.example", *OWN])
        assert (found.level, words(found)) == ("none", ["other_token"])


@pytest.mark.parametrize(
    "line",
    [
        "Reply-To: elsewhere@evil.example",
        "Sender: office@customer.example",
        "Auto-Submitted: No",
        "X-Auto-Response-Suppress: All",
        "Cc: a@other.example",
        "DKIM-Signature: v=1; d=newsletter.example; s=a; l=10; b=x",
    ],
)
def test_these_fields_prove_nothing_against_a_mail(line: str) -> None:
    assert judged([*OWN, line]).level == "domain"


def test_plus_addresses_of_ours_are_ours() -> None:
    token = "support+abc.def@shop.example"
    lines = [PASS, BORDER, *with_line("To", f"To: x@other.example, Shop <{token.upper()}>")]
    assert judged(lines, envelope_to=(token,)).level == "domain"
    lines = [
        *OWN[: -len(SENT)],
        *with_line("To", "To: x@other.example", "Cc: support@shop.example"),
    ]
    assert judged(lines, envelope_to=("support@shop.example",)).level == "domain"


def test_another_person_of_a_vouching_domain_isnt_the_sender() -> None:
    trust = replace(TRUST, vouching=frozenset({"customer.example"}))
    assert judged(OWN, trust).level == "sender"
    assert judged([*OWN, "Sender: ADA@customer.example"], trust).level == "sender"
    found = judged([*OWN, "Sender: office@customer.example"], trust)
    assert (found.level, words(found)) == ("domain", ["sent_for_another"])


def test_a_sealer_that_is_listed_may_forward() -> None:
    sealed = [*_told(f"arc=pass (i=1); dmarc=pass {GOOD}"), "ARC-Seal: i=1; d=Relay.example; b=x"]
    assert words(judged(sealed)) == ["forwarded"]
    trust = replace(TRUST, sealers=frozenset({"relay.example"}))
    assert judged(sealed, trust).level == "domain"
    assert words(judged([*sealed, "ARC-Seal: i=2; d=evil.example"], trust)) == ["forwarded"]
    assert words(judged(sealed[:-1], trust)) == ["forwarded"]


# -- no words of a sender raise a level ------------------------------------------------------------------
_LINES = st.sampled_from(
    [spelling.format("customer.example") for spelling in SPELLINGS]
    + [BORDER, LMTP, PASS, GMAIL_BORDER, GMAIL_RESULT, *OWN, *GMAIL]
    + [lines[-1] for lines, _ in FORGED.values()]
)
_ANY = _LINES | st.binary(max_size=40).map(lambda tail: b"Authentication-Results:" + tail)
_ZONES: list[tuple[list[str], Trust]] = [
    ([BORDER], TRUST),
    ([PASS.replace("=pass", "=fail"), BORDER], TRUST),
    ([PASS.replace("customer", "evil"), BORDER], TRUST),
    ([PASS.replace("mx.shop", "mx.other"), LMTP, BORDER], TRUST),
    ([GMAIL_BORDER, GMAIL_RESULT.replace("dmarc=pass", "dmarc=fail")], GMAIL_TRUST),
    ([GMAIL_BORDER, GMAIL_RESULT.replace("from=customer", "from=evil")], GMAIL_TRUST),
    ([M365[4].replace("dmarc=pass", "dmarc=none"), M365[6]], M365_TRUST),
]


@settings(max_examples=40)
@given(st.sampled_from(_ZONES), st.lists(_ANY, max_size=5), st.integers(0, len(SENT)))
def test_nothing_below_the_border_raises_a_level(
    known: tuple[list[str], Trust], lines: list[str | bytes], at: int
) -> None:
    zone, trust = known
    trust = replace(trust, vouching=frozenset({"customer.example"}))
    found = judged([*zone, *SENT[:at], *lines, *SENT[at:]], trust)
    if found.author is None or found.author.domain != "evil.example":
        assert found.level == "none"


@settings(max_examples=40)
@given(st.lists(_ANY, min_size=1, max_size=4), st.integers(0, len(SENT)))
def test_a_believed_mail_is_raised_no_further(lines: list[str | bytes], at: int) -> None:
    base = LEVELS.index(judged([PASS, BORDER, *SENT]).level)
    found = judged([PASS, BORDER, *SENT[:at], *lines, *SENT[at:]])
    assert LEVELS.index(found.level) <= base
    if found.level != "none":
        assert found.author is not None
        assert found.author.address == VICTIM
