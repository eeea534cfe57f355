"""Nobody but Slack gets in, and nothing that comes makes the check stumble."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from channels.slack.verify import MAX_BODY, Refused, Verified, check
from gateway.engine.kinds import Millis
from gateway.values import Secret

SECRET = Secret("8f742231b10e8888abcd99yyyzzz85a5")
NOW = Millis(1_531_420_618_000)
BODY = b'{"type":"event_callback"}'


def sign(body: bytes, stamp: str, secret: Secret = SECRET) -> str:
    signed = b"v0:" + stamp.encode() + b":" + body
    return "v0=" + hmac.new(secret.value.encode(), signed, hashlib.sha256).hexdigest()


def headers(body: bytes = BODY, *, at: int = 0, secret: Secret = SECRET) -> list[tuple[str, str]]:
    stamp = str(NOW // 1000 + at)
    return [
        ("Content-Type", "application/json"),
        ("X-Slack-Request-Timestamp", stamp),
        ("X-Slack-Signature", sign(body, stamp, secret)),
    ]


def refused(found: Verified | Refused) -> tuple[int, str]:
    assert isinstance(found, Refused), found
    assert found.why
    return found.status, found.reason


def test_slacks_own_example_is_let_in() -> None:
    """The one of its page "Verifying requests from Slack"."""
    body = (
        b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow"
        b"&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner"
        b"&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands"
        b"%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
        b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
    )
    given = [
        ("x-slack-request-timestamp", "1531420618"),
        (
            "x-slack-signature",
            "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
        ),
    ]
    assert check([SECRET], given, body, NOW) == Verified(body, 0)


@pytest.mark.parametrize("at", [-300, -299, -1, 0, 1, 299, 300])
def test_a_request_of_the_last_or_next_five_minutes_is_good(at: int) -> None:
    assert check([SECRET], headers(at=at), BODY, NOW) == Verified(BODY)


@pytest.mark.parametrize("at", [-301, 301, -86_400, 10**11])
def test_an_older_or_later_one_is_a_replay(at: int) -> None:
    assert refused(check([SECRET], headers(at=at), BODY, NOW)) == (401, "stale")


def test_the_window_is_measured_to_the_millisecond() -> None:
    late, early = Millis(NOW + 1), Millis(NOW - 1)
    assert refused(check([SECRET], headers(at=-300), BODY, late)) == (401, "stale")
    assert refused(check([SECRET], headers(at=300), BODY, early)) == (401, "stale")


@pytest.mark.parametrize("secrets", [[], [Secret("")], [Secret(""), Secret("")]])
def test_without_a_secret_nobody_gets_in(secrets: list[Secret]) -> None:
    """Not even with a signature under the empty key."""
    given = headers(secret=Secret(""))
    assert refused(check(secrets, given, BODY, NOW)) == (401, "no_secret")


def test_an_empty_secret_beside_a_real_one_opens_nothing() -> None:
    given = headers(secret=Secret(""))
    assert refused(check([Secret(""), SECRET], given, BODY, NOW)) == (401, "signature")


def test_both_secrets_count_while_one_replaces_the_other() -> None:
    old, new = Secret("old-signing-secret"), Secret("new-signing-secret")
    assert check([new, old], headers(secret=new), BODY, NOW) == Verified(BODY, 0)
    assert check([new, old], headers(secret=old), BODY, NOW) == Verified(BODY, 1)
    assert refused(check([new], headers(secret=old), BODY, NOW)) == (401, "signature")


@pytest.mark.parametrize(
    "body", [b"", BODY + b" ", BODY[:-1], b"\xff\xfe", BODY.replace(b"event", b"Event")]
)
def test_another_body_than_the_signed_one_is_refused(body: bytes) -> None:
    assert refused(check([SECRET], headers(), body, NOW)) == (401, "signature")


@pytest.mark.parametrize("body", [b"", b"\xff\xfe\x00", "ä€😀".encode(), b"x" * MAX_BODY])
def test_any_bytes_can_be_signed(body: bytes) -> None:
    assert check([SECRET], headers(body), body, NOW) == Verified(body)


def test_a_body_over_the_limit_isnt_even_hashed() -> None:
    body = b"x" * (MAX_BODY + 1)
    assert refused(check([SECRET], headers(body), body, NOW)) == (413, "too_large")


def test_the_timestamp_is_signed_too() -> None:
    given = headers()
    given[1] = (given[1][0], str(NOW // 1000 + 1))
    assert refused(check([SECRET], given, BODY, NOW)) == (401, "signature")


@pytest.mark.parametrize(
    "stamp",
    [
        *("", " ", "x", "1e9", "1531420618.0", "-1", "+1531420618", " 1531420618", "1531420618\n"),
        *("١٥٣١٤٢٠٦١٨", "1_531_420_618", "0x5b47", "9" * 13, "9" * 5000, "\ud800", "nan"),
    ],
)
def test_a_timestamp_that_is_no_whole_number_is_refused(stamp: str) -> None:
    given = headers()
    given[1] = (given[1][0], stamp)
    assert refused(check([SECRET], given, BODY, NOW)) == (401, "timestamp")


GOOD = headers()[2][1]


@pytest.mark.parametrize(
    "signature",
    [
        *(GOOD.upper(), "v0=" + GOOD[3:].upper(), GOOD[3:], "v1=" + GOOD[3:], GOOD[:-1]),
        *(GOOD + "0", GOOD + "\n", " " + GOOD, "", GOOD * 9),
        *(GOOD[:-1] + "ä", GOOD[:-1] + "\ud800", GOOD[:-1] + "١", GOOD[:-1] + "\x00"),
    ],
)
def test_a_signature_of_another_form_is_refused(signature: str) -> None:
    given = headers()
    given[2] = (given[2][0], signature)
    assert refused(check([SECRET], given, BODY, NOW)) == (401, "signature_form")


@pytest.mark.parametrize("which", [1, 2])
def test_a_missing_header_is_refused(which: int) -> None:
    given = headers()
    del given[which]
    assert refused(check([SECRET], given, BODY, NOW)) == (401, "header_missing")


@pytest.mark.parametrize("which", [1, 2])
def test_a_header_that_came_twice_is_refused_even_when_both_are_right(which: int) -> None:
    given = headers()
    name, value = given[which]
    given.append((name.upper(), value))
    assert refused(check([SECRET], given, BODY, NOW)) == (401, "header_twice")


def test_no_refusal_repeats_a_secret() -> None:
    wrong = headers(secret=Secret("another-secret-altogether"))
    found = check([SECRET], wrong, BODY, NOW)
    assert isinstance(found, Refused)
    assert SECRET.value not in repr(found)
    assert sign(BODY, str(NOW // 1000)) not in repr(found)
