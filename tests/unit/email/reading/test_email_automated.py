"""Nobody answers a machine or himself, and every person is heard."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.email.reading.automated import Noise, classify
from channels.email.reading.senders import addresses
from gateway.intake.rules import MEANING
from tests.unit.email.reading.letters import OWN, PERSON, handed, mail_of, raw_of


def judged(
    *more: str,
    by: str = "",
    subject: str = "",
    text: str = "Hello",
    envelope_from: str | None = "customer@example.com",
) -> Noise | None:
    """A person's mail with one thing changed."""
    head = PERSON
    if by:
        head = head.replace("Customer <customer@example.com>", by)
    if subject:
        head = head.replace("Order 1042", subject)
    raw = raw_of("\n".join([head, *more]) + f"\n\n{text}\n")
    return classify(mail_of(raw), handed(raw, envelope_from), OWN)


AUTOMATED = {
    "auto-submitted": [
        "Auto-Submitted: auto-replied",
        "AUTO-SUBMITTED:   Auto-Generated; owner-email=a@example.com",
        "Auto-Submitted: auto-notified (by a rule)",
        "Auto-Submitted: (really) auto-replied",
        "Auto-Submitted:\n auto-replied",
        "Auto-Submitted: yes",
        "Auto-Submitted: no\nAuto-Submitted: auto-replied",
        "Auto-Submitted: no-really",
    ],
    "report": [
        "Content-Type: multipart/report; report-type=delivery-status; boundary=b",
        "Content-Type: Multipart/Report; report-type=disposition-notification; boundary=b",
        "Content-Type: message/delivery-status",
        "Content-Type: message/disposition-notification",
    ],
    "precedence": [
        "Precedence: bulk",
        "Precedence: Junk",
        "precedence: list",
        "Precedence: auto_reply",
        "Precedence: auto-reply",
    ],
    "list": [
        "List-Id: Talk <talk.example.com>",
        "List-Unsubscribe: <mailto:off@example.com>",
        "List-Post: NO",
        "list-help: x",
        "List-Id: <support.shop.example>\nList-Id: <talk.example.com>",
    ],
    "auto-reply-field": [
        "X-Autoreply: yes",
        "X-Autorespond: Re: Order",
        "X-AutoReply-From: a@example.com",
        "X-Failed-Recipients: customer@example.com",
    ],
    "campaign": ["Feedback-ID: spring:shop:news:sender"],
}


@pytest.mark.parametrize(
    ("rule", "field"), [(rule, field) for rule, fields in AUTOMATED.items() for field in fields]
)
def test_marks_decide_alone(rule: str, field: str) -> None:
    assert judged(field) == Noise("automated_mail", rule, MEANING[rule])


@pytest.mark.parametrize(
    "field",
    [
        *("Auto-Submitted: no", "Auto-Submitted: NO; x=y", "Auto-Submitted: (auto-replied) no"),
        *("Auto-Submitted:", "X-Autoreply: no", "Precedence: first-class", "Precedence: normal"),
        *("X-Auto-Response-Suppress: All", "X-Auto-Response-Suppress: OOF, AutoReply"),  # B13
        *("Feedback-ID: ::1.eu-west-1.abc=:Relay", "Feedback-ID: 1.eu-west-1.abc=:Relay"),
        *("X-Loop: talk@example.com", "X-June-Loop: forged-9", "X-June-Loop:"),
        *("Listing: yes", "Content-Type: multipart/mixed; boundary=report"),
        "In-Reply-To: <abcdefgh234@shop.example>",
        "List-Id: Support <support.shop.example>\nList-Post: <x>\nPrecedence: list",
        "Received: (auto-replied)\nX-Original-Auto-Submitted: auto-replied",
        *("Sender: assistant@example.com", "Sender: no-reply@forms.example"),
    ],
)
def test_what_people_send_too_is_no_mark(field: str) -> None:
    assert judged(field) is None


# -- the return path -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("envelope_from", "field", "found"),
    [
        *(("", "", True), ("<>", "", True), (" ", "", True), ("MAILER-DAEMON", "", True)),
        *(("mailer-daemon@mx.example", "", True), ("bounce+1@news.example", "", False)),
        *((None, "Return-Path: <>", True), (None, "Return-Path:", True), (None, "", False)),
        (None, "Return-Path: <MAILER-DAEMON@mx.example>", True),
        (None, "Return-Path: <a@example.com>\nReturn-Path: <>", False),
        ("a@example.com", "Return-Path: <>", False),
    ],
)
def test_an_empty_return_path(envelope_from: str | None, field: str, found: bool) -> None:
    noise = judged(*([field] if field else []), envelope_from=envelope_from)
    assert (noise.rule if noise else "") == ("null-return-path" if found else "")


# -- who nobody is ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "by",
    [
        *(
            "MAILER-DAEMON@mx.example",
            "Mail Delivery <postmaster@mx.example>",
            "no-reply@a.example",
        ),
        *("noreply@a.example", "do_not_reply@a.example", "DoNotReply+12@a.example"),
        *("orders-noreply@a.example", "bounces+7=x@a.example", "talk-request@a.example"),
        *("owner-talk@a.example", "talk-bounces@a.example", "nicht-antworten@a.example"),
        "ada@a.example\nSender: owner-talk@lists.example",
    ],
)
def test_addresses_that_nobody_reads(by: str) -> None:
    noise = judged(by=by)
    assert noise is not None
    assert (noise.word, noise.rule) == ("automated_mail", "no-reply-sender")


@pytest.mark.parametrize(
    "by",
    [
        *("reply@a.example", "requests@a.example", "owner@a.example", "noel@a.example"),
        *("service@no-reply.example", '"no-reply@a.example" <ada@a.example>'),
        *(
            "ada@a.example (mailer-daemon@mx.example)",
            "Postmaster <ada@a.example>",
            "system@a.example",
        ),
    ],
)
def test_addresses_that_only_look_so(by: str) -> None:
    assert judged(by=by) is None


# -- ours ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "by",
    [
        *("support@shop.example", "June <SUPPORT@Shop.Example>", "support+abc.def@shop.example"),
        *(
            '"June, Shop" <support@shop.example>',
            "<support @ shop.example>",
            "bounce+1@shop.example",
        ),
        *('"June <support@shop.example>', "ada@a.example, support@shop.example"),
        "ada@a.example\nSender: support@shop.example",
        "ada@a.example\nFrom: support@shop.example",
    ],
)
def test_a_mail_from_our_own_address(by: str) -> None:
    noise = judged(by=by)
    assert noise is not None
    assert (noise.word, noise.rule) == ("own_echo", "own-address")


@pytest.mark.parametrize(
    "by",
    [
        *('"support@shop.example" <ada@a.example>', "ada@a.example (support@shop.example)"),
        *("support@shop.example.a.example", "othersupport@shop.example", "sales@shop.example"),
    ],
)
def test_a_mail_that_only_names_us_is_not_ours(by: str) -> None:
    assert judged(by=by) is None


@pytest.mark.parametrize(
    "given_id",
    ["<abcdefgh234@shop.example>", "<ABCDEFGH234@SHOP.example>", "<abcdefgh234+2@shop.example>"],
)
def test_our_own_id_comes_back(given_id: str) -> None:
    raw = raw_of(PERSON.replace("<1@example.com>", given_id) + "\n\nHello")
    noise = classify(mail_of(raw), handed(raw), OWN)
    assert noise is not None
    assert (noise.word, noise.rule) == ("own_echo", "own-id")


@pytest.mark.parametrize(
    ("fields", "word", "rule"),
    [
        (["X-June-Loop: signed-1"], "own_echo", "own-mail"),
        (["X-June-Loop: signed-2"], "own_echo", "own-mail"),
        (["X-June-Loop: forged", "x-june-loop: signed-1"], "own_echo", "own-mail"),
        (["X-Loop: <support@shop.example>"], "loop", "own-loop-mark"),
        (["X-Loop: Shop.example"], "loop", "own-loop-mark"),
        (["X-June-Loop: signed-1", "Auto-Submitted: auto-replied"], "own_echo", "own-mail"),
    ],
)
def test_a_mail_that_went_round(fields: list[str], word: str, rule: str) -> None:
    assert judged(*fields) == Noise(word, rule, MEANING[rule])  # type: ignore[arg-type]


# -- words -----------------------------------------------------------------------------------------
REPLY = "In-Reply-To: <abcdefgh234@shop.example>"


@pytest.mark.parametrize(
    ("subject", "field", "text", "envelope_from", "found"),
    [
        ("Automatic reply: Order", REPLY, "I am out of office until 10 March.", None, True),
        ("Automatische Antwort: Order", REPLY, "Ich bin\nim Urlaub.", None, True),
        ("自動返信: 注文", REPLY, "休暇を取っております。", None, True),
        ("Out of Office: Order", REPLY, "See you.", "bounce-7@example.com", True),
        ("Automatic reply: Order", REPLY, "Where is it?", None, False),
        ("Automatic reply: Order", "X-A: b", "I am out of office.", None, False),
        ("Re: Automatic reply: Order", REPLY, "I am out of office.", None, False),
        ("Order 1042", REPLY, "I am out of office, leave it next door.", None, False),
        ("Automatic reply: x", "In-Reply-To: <2@a.example>", "I am out of office.", None, False),
    ],
)
def test_words_count_only_together(
    subject: str, field: str, text: str, envelope_from: str | None, found: bool
) -> None:
    noise = judged(field, subject=subject, text=text, envelope_from=envelope_from)
    assert (noise.rule if noise else "") == ("auto-reply-words" if found else "")


# -- read, never answered --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("by", "reads"),
    [
        *(("scanner@example.com", True), ("Scanner <Scanner+2@Example.com>", True)),
        *(("any@alerts.example", True), ("any@sub.alerts.example", False)),
        *(("customer@example.com", False), ('"scanner@example.com" <x@a.example>', False)),
        *(("scanner@example.com, x@a.example", False), ("", False)),
    ],
)
def test_machines_that_the_operator_wants_read(by: str, reads: bool) -> None:
    noise = judged("Auto-Submitted: auto-generated", by=by)
    assert noise == Noise("automated_mail", "auto-submitted", MEANING["auto-submitted"], reads)


def test_what_is_ours_is_never_read_whatever_the_operator_wants() -> None:
    noise = judged("X-June-Loop: signed-1", "Auto-Submitted: auto-generated", by="a@alerts.example")
    assert noise is not None
    assert not noise.reads


# -- the rest --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("value", "found"),
    [
        (b"Ada <ada@a.example>", ["ada@a.example"]),
        (b"ada@a.example, bert@b.example", ["ada@a.example", "bert@b.example"]),
        (b"<@relay.example:ada@a.example>", ["@relay.example:ada@a.example"]),
        (b'"x \\" <y@b.example>" <ada@a.example>', ["ada@a.example"]),
        (b"team: ada@a.example;", ["ada@a.example"]),
        (b'"never closed <ada@a.example>', ["ada@a.example"]),
        (b"", []),
        (b"@ <@> @@", []),
    ],
)
def test_addresses_are_read_generously(value: bytes, found: list[str]) -> None:
    assert list(addresses(value)) == found


@settings(max_examples=60)
@given(
    name=st.sampled_from(
        ["auto-submitted", "from", "sender", "list-id", "precedence", "x-loop", "feedback-id"]
    ),
    value=st.binary(max_size=80),
    envelope_from=st.none() | st.text(max_size=20),
)
def test_any_value_is_judged(name: str, value: bytes, envelope_from: str | None) -> None:
    raw = name.encode() + b": " + value + b"\r\n" + raw_of(PERSON) + b"\r\n\r\nHello"
    noise = classify(mail_of(raw), handed(raw, envelope_from), OWN)
    assert noise is None or noise.why == MEANING[noise.rule]
