"""Whether a webhook comes from the provider it says: decided over the bytes, before anything reads them.

How each proves itself (their documentation; django-anymail 15.2 reads them alike):

- Postmark signs nothing. Its requests carry the user and password of the URL they are sent to (RFC 7617).
- SendGrid's Inbound Parse signs timestamp and body with ECDSA over P-256 and SHA-256, once a security policy
  is attached.
- Mailgun's HMAC-SHA256 in hex is over timestamp and token, two fields of the body; it covers nothing else,
  so that a token may be good for one mail only.
- Resend's are Standard Webhooks: base64 of HMAC-SHA256 over ``id.timestamp.body``, of which there may be
  several while a secret is changed.
- Amazon SNS signs a list of fields with RSA; the certificate is at an address that the message names.

Nothing here raises, and without a secret nothing passes.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed

from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.struct import struct
from gateway.values import Secret

__all__ = [
    "Proved",
    "Refused",
    "basic",
    "confirmation",
    "mailgun",
    "resend",
    "sendgrid",
    "sns",
    "sns_certificate",
]

Headers = Iterable[tuple[str, str]]
"""All that came, so that one which came twice is seen."""

WINDOW = Millis(300_000)
"""How far a signature's time may lie from ours, either way; the edge itself is still good."""
RETRIED = Millis(3 * 24 * 3_600_000)
"""SendGrid tries for so long, and doesn't say whether it signs each try anew. It signs the mail too, and a
mail that comes twice is known by its content: one that is old does no harm."""
PUBLISHED = Millis(2 * 3_600_000)
"""An SNS message keeps the time of its first try, and may be tried for an hour. Its id tells the copies."""

SENDGRID_SIGNATURE = "x-twilio-email-event-webhook-signature"
SENDGRID_TIME = "x-twilio-email-event-webhook-timestamp"
MOST_SIGNATURES = 16
SMALLEST_KEY = 2048


@struct(frozen=True, slots=True, kw_only=True)
class Refused:
    """A request that isn't let in. ``reason`` is one stable word to count by, ``why`` a sentence."""

    status: int = 401
    reason: str
    why: str


@struct(frozen=True, slots=True, kw_only=True)
class Proved:
    """``covered``: the proof is over every byte of the mail, or of where it is fetched."""

    covered: bool


# -- Postmark --------------------------------------------------------------------------------------------
def basic(secret: Secret | None, headers: Headers) -> Proved | Refused:
    """``secret`` is ``user:password``."""
    if secret is None or not secret.value:
        return _no_secret()
    given = _given(headers, "authorization")
    if isinstance(given, Refused):
        return given
    scheme, _, code = given["authorization"].partition(" ")
    plain = _base64(code.strip())
    if scheme.lower() != "basic" or plain is None:
        return _form("authorization must be Basic and base64")
    if not hmac.compare_digest(plain, secret.value.encode()):
        return Refused(reason="signature", why="the user or the password in the URL isn't ours")
    return Proved(covered=False)


# -- SendGrid --------------------------------------------------------------------------------------------
def sendgrid(key: Secret | None, headers: Headers, body: bytes, now: Millis) -> Proved | Refused:
    """``key`` is the public key as SendGrid shows it: base64 of its DER."""
    if key is None or not key.value:
        return _no_secret()
    public = _p256(key.value)
    if public is None:
        return Refused(reason="no_secret", why="the public key that is set isn't one of P-256")
    given = _given(headers, SENDGRID_SIGNATURE, SENDGRID_TIME)
    if isinstance(given, Refused):
        return given
    stamp, signature = given[SENDGRID_TIME], _base64(given[SENDGRID_SIGNATURE])
    if signature is None:
        return _form(f"{SENDGRID_SIGNATURE} must be base64")
    if (wrong := _untimely(stamp, now, past=RETRIED)) is not None:
        return wrong
    digest = hashlib.sha256(stamp.encode())
    digest.update(body)
    try:
        public.verify(signature, digest.digest(), ec.ECDSA(Prehashed(hashes.SHA256())))
    except InvalidSignature:
        return _unsigned()
    return Proved(covered=True)


def _p256(key: str) -> ec.EllipticCurvePublicKey | None:
    der = _base64(key)
    try:
        found = None if der is None else serialization.load_der_public_key(der)
    except (ValueError, UnsupportedAlgorithm):
        return None
    if not isinstance(found, ec.EllipticCurvePublicKey):
        return None
    return found if isinstance(found.curve, ec.SECP256R1) else None


# -- Mailgun ---------------------------------------------------------------------------------------------
def mailgun(secret: Secret | None, fields: Mapping[str, bytes], now: Millis) -> Proved | Refused:
    """``fields`` are those of the body, each of which came once. The token is good for one mail, which is for
    ``ways/once.py`` to see to."""
    if secret is None or not secret.value:
        return _no_secret()
    for name in ("timestamp", "token", "signature"):
        if name not in fields:
            return Refused(reason="field_missing", why=f"the field {name} is missing")
    stamp, token, signature = fields["timestamp"], fields["token"], fields["signature"]
    if not 16 <= len(token) <= 128 or not token.isalnum():
        return _form("token must be letters and digits")
    if (wrong := _untimely(stamp.decode("latin-1"), now, past=WINDOW)) is not None:
        return wrong
    mac = hmac.new(secret.value.encode(), stamp + token, hashlib.sha256).hexdigest().encode()
    return Proved(covered=False) if hmac.compare_digest(mac, signature) else _unsigned()


# -- Resend (standardwebhooks.com) -----------------------------------------------------------------------
def resend(secret: Secret | None, headers: Headers, body: bytes, now: Millis) -> Proved | Refused:
    """``secret`` is ``whsec_`` and base64."""
    if secret is None or not secret.value:
        return _no_secret()
    key = _base64(secret.value.removeprefix("whsec_"))
    if not key:
        return Refused(reason="no_secret", why="the secret that is set must be whsec_ and base64")
    given = _given(headers, "svix-id", "svix-timestamp", "svix-signature")
    if isinstance(given, Refused):
        return given
    stamp, name = given["svix-timestamp"], given["svix-id"]
    if (wrong := _untimely(stamp, now, past=WINDOW)) is not None:
        return wrong
    signed = b"%b.%b.%b" % (name.encode("utf-8", "replace"), stamp.encode(), body)
    mac = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    marks = given["svix-signature"].split(" ", MOST_SIGNATURES)[:MOST_SIGNATURES]
    fits = [
        hmac.compare_digest(mac, mark.removeprefix("v1,").encode("utf-8", "replace"))
        for mark in marks
        if mark.startswith("v1,")
    ]
    return Proved(covered=True) if True in fits else _unsigned()


# -- Amazon SNS ------------------------------------------------------------------------------------------
_NOTICE = ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type")
_CONFIRMATION = ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")
SNS_FIELDS: Mapping[str, tuple[str, ...]] = {
    "Notification": _NOTICE,
    "SubscriptionConfirmation": _CONFIRMATION,
    "UnsubscribeConfirmation": _CONFIRMATION,
}
"""What is signed of each kind, in this order."""


def sns_certificate(topic: str | None, headers: Headers, message: JsonObject) -> str | Refused:
    """Where the certificate of a message is, once everything that can be looked at without it is right.
    The message is of our topic, and the address is of SNS in the topic's region, and nowhere else."""
    if not topic:
        return _no_secret()
    given = _given(headers, "x-amz-sns-message-type", "x-amz-sns-message-id")
    if isinstance(given, Refused):
        return given
    named = (given["x-amz-sns-message-type"], given["x-amz-sns-message-id"])
    if named != (message.get("Type"), message.get("MessageId")):
        return _form("the headers are of another message than the body")
    if message.get("TopicArn") != topic:
        return Refused(reason="topic", why="the message is of another topic")
    url = message.get("SigningCertURL")
    if not isinstance(url, str) or not _of_sns(url, topic):
        return Refused(
            reason="certificate", why="the certificate isn't at SNS in the topic's region"
        )
    path = urlsplit(url).path
    name = path.removeprefix("/SimpleNotificationService-").removesuffix(".pem")
    if path != f"/SimpleNotificationService-{name}.pem" or not name.isalnum():
        return Refused(reason="certificate", why="the address isn't that of a certificate of SNS")
    return url


def sns(message: JsonObject, certificate: bytes, now: Millis) -> Proved | Refused:
    """The message's signature under a certificate (PEM) that came from where it has to. Version 1 is over
    SHA-1, and proves no mail's content."""
    version, signature = message.get("SignatureVersion"), message.get("Signature")
    mark = _base64(signature) if isinstance(signature, str) else None
    if mark is None or version not in {"1", "2"}:
        return _form("SignatureVersion must be 1 or 2, and Signature base64")
    signed = _sns_signed(message)
    if isinstance(signed, Refused):
        return signed
    key = _rsa(certificate, now)
    if key is None:
        return Refused(reason="certificate", why="the certificate isn't good, or not now")
    # SHA-1 is what SNS signs with unless the topic says otherwise.
    method = hashes.SHA256() if version == "2" else hashes.SHA1()  # noqa: S303
    try:
        key.verify(mark, signed, padding.PKCS1v15(), method)
    except InvalidSignature:
        return _unsigned()
    if (wrong := _unpublished(message.get("Timestamp"), now)) is not None:
        return wrong
    return Proved(covered=version == "2")


def confirmation(message: JsonObject, topic: str) -> str | None:
    """The address at which a signed ``SubscriptionConfirmation`` is confirmed, if it is SNS's."""
    url = message.get("SubscribeURL")
    return url if isinstance(url, str) and _of_sns(url, topic) else None


def _sns_signed(message: JsonObject) -> bytes | Refused:
    lines: list[str] = []
    for name in SNS_FIELDS.get(str(message.get("Type")), ()):
        value = message.get(name)
        if value is None and name == "Subject":
            continue
        if not isinstance(value, str):
            return _form(f"{name} must be text")
        lines += [name, value]
    if not lines:
        return _form("Type is none that SNS has")
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")


def _of_sns(url: str, topic: str) -> bool:
    """``https://sns.<region>.amazonaws.com``, the region that of ``arn:aws:sns:<region>:…``."""
    if not url.isascii() or not url.isprintable() or "\\" in url:
        return False
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    arn = topic.split(":")
    if len(arn) != 6 or arn[0] != "arn" or arn[2] != "sns":
        return False
    host = f"sns.{arn[3]}.amazonaws.com" + (".cn" if arn[1] == "aws-cn" else "")
    return parts.scheme == "https" and parts.netloc.lower() == host and port is None


def _rsa(certificate: bytes, now: Millis) -> rsa.RSAPublicKey | None:
    try:
        found = x509.load_pem_x509_certificate(certificate)
        key = found.public_key()
    except (ValueError, UnsupportedAlgorithm):
        return None
    at = datetime.fromtimestamp(now / 1000, UTC)
    if not found.not_valid_before_utc <= at <= found.not_valid_after_utc:
        return None
    return key if isinstance(key, rsa.RSAPublicKey) and key.key_size >= SMALLEST_KEY else None


def _unpublished(stamp: object, now: Millis) -> Refused | None:
    try:
        at = datetime.fromisoformat(str(stamp))
    except ValueError:
        return _form("Timestamp must be a time of day")
    if at.tzinfo is None:
        return _form("Timestamp must name its zone")
    return _aged(int(at.timestamp() * 1000), now, past=PUBLISHED)


# -- what they share -------------------------------------------------------------------------------------
def _given(headers: Headers, *names: str) -> dict[str, str] | Refused:
    """These headers, each of which must have come exactly once."""
    found: dict[str, str] = {}
    for name, value in headers:
        lower = name.lower()
        if lower in names:
            if lower in found:
                return Refused(reason="header_twice", why=f"{lower} came more than once")
            found[lower] = value
    for name in names:
        if name not in found:
            return Refused(reason="header_missing", why=f"{name} is missing")
    return found


def _untimely(stamp: str, now: Millis, *, past: Millis) -> Refused | None:
    if not stamp.isascii() or not stamp.isdigit() or len(stamp) > 12:
        return Refused(reason="timestamp", why="the timestamp must be a whole number of seconds")
    return _aged(int(stamp) * 1000, now, past=past)


def _aged(at: int, now: Millis, *, past: Millis) -> Refused | None:
    if at - WINDOW <= now <= at + past:
        return None
    return Refused(reason="stale", why="the timestamp is too far from this host's clock")


def _base64(text: str) -> bytes | None:
    try:
        return base64.b64decode(text.encode("ascii"), validate=True)
    except (ValueError, binascii.Error):
        return None


def _no_secret() -> Refused:
    return Refused(reason="no_secret", why="no secret is set for this provider")


def _form(why: str) -> Refused:
    return Refused(reason="signature_form", why=why)


def _unsigned() -> Refused:
    return Refused(
        reason="signature", why="the signature isn't that of this request under our secret"
    )
