"""A webhook is let in by its proof alone, and by all of it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.email import verify
from channels.email.verify import Proved, Refused
from gateway.engine.kinds import JsonObject, Millis
from gateway.values import Secret
from tests.unit.email.ways import providers as p

Judged = Proved | Refused
Headers = Iterable[tuple[str, str]]
Check = Callable[[Headers, bytes, Secret | None, Millis], Judged]


def _mailgun(_: object, body: bytes, secret: Secret | None, now: Millis) -> Judged:
    fields = {name: value.encode() for name, value in json.loads(body).items()}
    return verify.mailgun(secret, fields, now)


SIGNED_MAILGUN = json.dumps({name: value.decode() for name, value in p.mailgun().items()}).encode()
CHECKS: dict[str, tuple[Check, Secret, tuple[Mapping[str, str], bytes]]] = {
    "postmark": (lambda h, _b, s, _n: verify.basic(s, h), p.POSTMARK, p.postmark()),
    "sendgrid": (
        lambda h, b, s, n: verify.sendgrid(s, h, b, n),
        p.SENDGRID,
        p.sendgrid({"email": p.RAW}),
    ),
    "mailgun": (_mailgun, p.MAILGUN, ({}, SIGNED_MAILGUN)),
    "resend": (
        lambda h, b, s, n: verify.resend(s, h, b, n),
        p.RESEND,
        p.resend({"type": "email.received"}),
    ),
}
TIMED = ["sendgrid", "mailgun", "resend"]
HEADERS = ["postmark", "sendgrid", "resend"]
WRONG = {
    "postmark": Secret("hook:pass:word2"),
    "sendgrid": Secret(base64.b64encode(b"no key").decode()),
    "mailgun": Secret("another"),
    "resend": Secret("whsec_" + base64.b64encode(b"another").decode()),
}


def reason(judged: Judged) -> str:
    return judged.reason if isinstance(judged, Refused) else "proved"


@pytest.mark.parametrize(
    ("name", "covered"),
    [("postmark", False), ("sendgrid", True), ("mailgun", False), ("resend", True)],
)
def test_the_provider_itself_is_let_in(name: str, covered: bool) -> None:
    check, secret, (headers, body) = CHECKS[name]
    assert check(headers.items(), body, secret, p.NOW) == Proved(covered=covered)


@pytest.mark.parametrize("name", CHECKS)
def test_without_a_secret_nobody_is(name: str) -> None:
    check, _, (headers, body) = CHECKS[name]
    assert reason(check(headers.items(), body, None, p.NOW)) == "no_secret"
    assert reason(check(headers.items(), body, Secret(""), p.NOW)) == "no_secret"


@pytest.mark.parametrize("name", CHECKS)
def test_nor_under_another_secret(name: str) -> None:
    check, _, (headers, body) = CHECKS[name]
    assert reason(check(headers.items(), body, WRONG[name], p.NOW)) in {"signature", "no_secret"}


@pytest.mark.parametrize("name", ["sendgrid", "resend"])
def test_a_byte_more_or_less_is_noticed(name: str) -> None:
    check, secret, (headers, body) = CHECKS[name]
    for altered in (body[:-1], body + b" ", body.replace(b"e", b"f", 1), b""):
        assert reason(check(headers.items(), altered, secret, p.NOW)) == "signature"


OFF = (
    ("mailgun", 301),
    ("mailgun", -301),
    ("resend", 301),
    ("resend", -301),
    ("sendgrid", -301),
    ("sendgrid", 3 * 86_400 + 1),
)


def test_what_is_stale_or_ahead_of_time_is_not() -> None:
    for name, off in OFF:
        check, secret, (headers, body) = CHECKS[name]
        edge = off - (1 if off > 0 else -1)
        assert reason(check(headers.items(), body, secret, Millis(p.NOW + off * 1000))) == "stale"
        assert reason(check(headers.items(), body, secret, Millis(p.NOW + edge * 1000))) == "proved"


@pytest.mark.parametrize("name", HEADERS)
def test_each_header_comes_once(name: str) -> None:
    check, secret, (headers, body) = CHECKS[name]

    for header in set(headers) - {"content-type"}:
        given = list(headers.items())
        without = [pair for pair in given if pair[0] != header]
        assert reason(check(without, body, secret, p.NOW)) == "header_missing"
        assert reason(check([*given, (header.upper(), "x")], body, secret, p.NOW)) == "header_twice"


@settings(max_examples=25)
@given(st.text(max_size=40))
def test_whatever_stands_in_a_header_it_is_judged(junk: str) -> None:
    for name in HEADERS:
        check, secret, (headers, body) = CHECKS[name]
        for header in headers:
            check({**headers, header: junk}.items(), body, secret, p.NOW)
    for field in p.mailgun():
        fields = p.mailgun() | {field: junk.encode("utf-8", "replace")}
        assert isinstance(verify.mailgun(p.MAILGUN, fields, p.NOW), Refused)


# -- SNS -------------------------------------------------------------------------------------------------
def sns(message: JsonObject, certificate: bytes | None = None) -> Judged:
    """As the way in does it."""
    url = verify.sns_certificate(p.TOPIC, p.sns_headers(message).items(), message)
    if isinstance(url, Refused):
        return url
    return verify.sns(message, certificate or p.certificate(), p.NOW)


@pytest.mark.parametrize("more", [{}, {"Subject": "s"}, {"Message": "ü\n\U0001f600"}])
def test_a_message_of_our_topic_is_let_in(more: dict[str, str]) -> None:
    assert sns(p.sns(**more)) == Proved(covered=True)


def test_sha1_proves_no_content() -> None:
    assert sns(p.sns(version="1")) == Proved(covered=False)


@pytest.mark.parametrize("field", ["Message", "MessageId", "Timestamp", "Subject"])
def test_an_altered_field_is_noticed(field: str) -> None:
    assert reason(sns({**p.sns(), field: "altered"})) == "signature"


NEVER: tuple[tuple[JsonObject, str], ...] = (
    ({"TopicArn": "arn:aws:sns:eu-west-1:123456789012:other"}, "topic"),
    ({"Signature": "%"}, "signature_form"),
    ({"Signature": None}, "signature_form"),
    ({"SignatureVersion": "3"}, "signature_form"),
    ({"Type": "Invented"}, "signature_form"),
    ({"Message": 5}, "signature_form"),
)


def test_what_sns_never_sends_is_refused() -> None:
    for altered, why in NEVER:
        assert reason(sns({**p.sns(), **altered})) == why, altered


ELSEWHERE = (
    "http://sns.eu-west-1.amazonaws.com/SimpleNotificationService-a.pem",
    "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-a.pem",
    "https://sns.eu-west-1.amazonaws.com.evil.example/SimpleNotificationService-a.pem",
    "https://sns.eu-west-1.amazonaws.com@evil.example/SimpleNotificationService-a.pem",
    "https://sns.eu-west-1.amazonaws.com:444/SimpleNotificationService-a.pem",
    "https://evil.example/sns.eu-west-1.amazonaws.com/SimpleNotificationService-a.pem",
    "https://sns.eu-west-1.amazonaws.com\\@evil.example/SimpleNotificationService-a.pem",
    "https://sns.eu-west-1.amazonaws.com/other.pem",
    "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-a/../../x.pem",
    "https://[::1/SimpleNotificationService-a.pem",
    "",
    None,
)


def test_a_certificate_from_elsewhere_isnt_asked_for() -> None:
    for url in ELSEWHERE:
        message: JsonObject = {**p.sns(), "SigningCertURL": url}
        assert reason(sns(message)) == "certificate", url


def test_the_certificate_must_be_good_now() -> None:
    assert reason(sns(p.sns(), p.certificate(days=-1))) == "certificate"
    assert reason(sns(p.sns(), b"-----BEGIN CERTIFICATE-----")) == "certificate"


def test_an_old_message_is_refused() -> None:
    assert reason(sns(p.sns(Timestamp="2026-09-01T00:00:00.000Z"))) == "stale"
    assert reason(sns(p.sns(Timestamp="yesterday"))) == "signature_form"


def test_headers_and_body_are_of_one_message() -> None:
    headers = {**p.sns_headers(p.sns()), "x-amz-sns-message-id": "n-2"}
    assert reason_of(verify.sns_certificate(p.TOPIC, headers.items(), p.sns())) == "signature_form"
    assert reason_of(verify.sns_certificate(None, headers.items(), p.sns())) == "no_secret"


def reason_of(found: str | Refused) -> str:
    return found.reason if isinstance(found, Refused) else found


def test_only_sns_is_asked_to_confirm() -> None:
    good = "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=t"
    assert verify.confirmation({"SubscribeURL": good}, p.TOPIC) == good
    assert verify.confirmation({"SubscribeURL": "https://evil.example/"}, p.TOPIC) is None
