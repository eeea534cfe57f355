"""Whether a request comes from Slack: decided over the raw bytes, before anything reads them.

Wire (docs.slack.dev, "Verifying requests from Slack"; slack_sdk ``signature/__init__.py``):
``X-Slack-Signature`` is ``v0=`` and the hex HMAC-SHA256, keyed by the app's signing secret, of
``v0:<X-Slack-Request-Timestamp>:<body>``. The timestamp is in whole seconds, and requests more than
five minutes off are to be refused as replays. Events, clicks and commands are signed alike.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Sequence

from gateway.engine.kinds import Millis
from gateway.engine.struct import struct
from gateway.values import Secret

__all__ = ["MAX_BODY", "WINDOW", "Refused", "Verified", "check"]

MAX_BODY = 1 << 20
"""Slack's own payloads stay far below."""
WINDOW = Millis(300_000)
"""How far a request's time may lie from ours, either way; the edge itself is still good."""

_TIMESTAMP = "x-slack-request-timestamp"
_SIGNATURE = "x-slack-signature"
_DIGITS = re.compile(r"[0-9]{1,12}")
_SIGNED = re.compile(r"v0=[0-9a-f]{64}")


@struct(frozen=True, slots=True, kw_only=True)
class Refused:
    """A request that isn't let in. ``reason`` is one stable word to count by, ``why`` a sentence.

    Sent again it would be refused again: the reply may tell Slack not to retry.
    """

    status: int
    reason: str
    why: str


@struct(frozen=True, slots=True)
class Verified:
    """A body that Slack signed. ``key`` says with which of our secrets, counted from 0."""

    body: bytes
    key: int = 0


def check(
    secrets: Sequence[Secret], headers: Iterable[tuple[str, str]], body: bytes, now: Millis
) -> Verified | Refused:
    """Never raises. ``headers`` are all that came, so that one sent twice is seen; each of several
    ``secrets`` counts, so that a secret can be changed without a gap."""
    if len(body) > MAX_BODY:
        return Refused(status=413, reason="too_large", why=f"the body is over {MAX_BODY} bytes")
    keys = [secret.value.encode() for secret in secrets]
    if not any(keys):
        return _refused("no_secret", "no signing secret is set: set SLACK_SIGNING_SECRET")
    given = _ours(headers)
    if isinstance(given, Refused):
        return given
    stamp, signature = given
    if not _DIGITS.fullmatch(stamp):
        return _refused("timestamp", f"{_TIMESTAMP} must be a whole number of seconds")
    if not _SIGNED.fullmatch(signature):
        return _refused("signature_form", f"{_SIGNATURE} must be v0= and 64 lower-case hex digits")
    if abs(now - int(stamp) * 1000) > WINDOW:
        return _refused("stale", f"{_TIMESTAMP} is over {WINDOW // 1000} s from this host's clock")
    return _matched(keys, signature, b"v0:%b:%b" % (stamp.encode(), body), body)


def _matched(
    keys: Sequence[bytes], signature: str, signed: bytes, body: bytes
) -> Verified | Refused:
    """Every key is tried, whichever fits: the time taken tells nothing about them."""
    fits = [bool(key) & hmac.compare_digest(_sign(key, signed), signature) for key in keys]
    if True in fits:
        return Verified(body, fits.index(True))
    return _refused("signature", f"{_SIGNATURE} isn't that of this body under a secret of ours")


def _sign(key: bytes, signed: bytes) -> str:
    return f"v0={hmac.new(key, signed, hashlib.sha256).hexdigest()}"


def _ours(headers: Iterable[tuple[str, str]]) -> tuple[str, str] | Refused:
    """The timestamp and the signature, each of which must have come exactly once."""
    found: dict[str, str] = {}
    for name, value in headers:
        lower = name.lower()
        if lower in {_TIMESTAMP, _SIGNATURE}:
            if lower in found:
                return _refused("header_twice", f"{lower} came more than once")
            found[lower] = value
    for name in (_TIMESTAMP, _SIGNATURE):
        if name not in found:
            return _refused("header_missing", f"{name} is missing")
    return found[_TIMESTAMP], found[_SIGNATURE]


def _refused(reason: str, why: str) -> Refused:
    return Refused(status=401, reason=reason, why=why)
