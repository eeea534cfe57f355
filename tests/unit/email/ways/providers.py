"""Requests as each provider makes them, signed with keys of our own."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import quote_from_bytes

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import NameOID

from channels.contract import HookRequest
from gateway.engine.kinds import JsonObject, Millis
from gateway.values import Secret

NOW = Millis(1_790_000_000_000)
SECONDS = str(NOW // 1000)
RAW = (
    b"From: Ada <ada@example.com>\r\nSubject: one\r\n\r\n"
    b"--not a boundary\r\n\xfc & = + %41\nlone\r\n.\r\n\r\n"
)
Headers = Mapping[str, str]


def request(path: str, headers: Headers, body: bytes) -> HookRequest:
    return HookRequest(method="POST", path=path, query={}, headers=headers, body=body, at=NOW)


def form(fields: Mapping[str, bytes], boundary: str = "xYzZY") -> tuple[str, bytes]:
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode() + value
        for name, value in fields.items()
    ]
    body = b"\r\n".join([*parts, f"--{boundary}--\r\n".encode()])
    return f"multipart/form-data; boundary={boundary}", body


def urlencoded(fields: Mapping[str, bytes]) -> tuple[str, bytes]:
    pairs = (f"{name}={quote_from_bytes(value, safe='')}" for name, value in fields.items())
    return "application/x-www-form-urlencoded", "&".join(pairs).replace("%20", "+").encode()


# -- Postmark --------------------------------------------------------------------------------------------
POSTMARK = Secret("hook:pass:word")


def postmark(**more: object) -> tuple[dict[str, str], bytes]:
    event = {"MessageID": "p-1", "OriginalRecipient": "support+x@shop.example"} | more
    code = base64.b64encode(POSTMARK.value.encode()).decode()
    return {"authorization": f"Basic {code}"}, json.dumps(event).encode()


# -- SendGrid --------------------------------------------------------------------------------------------
_EC = ec.derive_private_key(0x5EED, ec.SECP256R1())
SENDGRID = Secret(
    base64.b64encode(
        _EC.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    ).decode()
)


def sendgrid(fields: Mapping[str, bytes], stamp: str = SECONDS) -> tuple[dict[str, str], bytes]:
    kind, body = form(fields)
    mark = _EC.sign(stamp.encode() + body, ec.ECDSA(hashes.SHA256()))
    headers = {
        "content-type": kind,
        "x-twilio-email-event-webhook-timestamp": stamp,
        "x-twilio-email-event-webhook-signature": base64.b64encode(mark).decode(),
    }
    return headers, body


# -- Mailgun ---------------------------------------------------------------------------------------------
MAILGUN = Secret("key-made-up")
TOKEN = "a1" * 25


def mailgun(stamp: str = SECONDS, key: Secret = MAILGUN) -> dict[str, bytes]:
    mac = hmac.new(key.value.encode(), f"{stamp}{TOKEN}".encode(), hashlib.sha256).hexdigest()
    return {"timestamp": stamp.encode(), "token": TOKEN.encode(), "signature": mac.encode()}


# -- Resend ----------------------------------------------------------------------------------------------
RESEND = Secret("whsec_" + base64.b64encode(b"k" * 24).decode())


def resend(
    event: JsonObject, stamp: str = SECONDS, key: bytes = b"k" * 24
) -> tuple[dict[str, str], bytes]:
    body = json.dumps(event).encode()
    mac = hmac.new(key, f"msg_1.{stamp}.".encode() + body, hashlib.sha256).digest()
    other = base64.b64encode(b"\0" * 32).decode()
    marks = f"v1,{other} v1a,{other} v1,{base64.b64encode(mac).decode()}"
    return {"svix-id": "msg_1", "svix-timestamp": stamp, "svix-signature": marks}, body


# -- Amazon ----------------------------------------------------------------------------------------------
TOPIC = "arn:aws:sns:eu-west-1:123456789012:mail"
CERTIFICATE_URL = (
    "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem"
)
_RSA = rsa.generate_private_key(65537, 2048)
STAMP = datetime.fromtimestamp(NOW / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def certificate(days: int = 30) -> bytes:
    at = datetime.fromtimestamp(NOW / 1000, UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.amazonaws.com")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(_RSA.public_key())
        .serial_number(1)
        .not_valid_before(at - timedelta(days=60))
        .not_valid_after(at + timedelta(days=days))
        .sign(_RSA, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM)


def sns(version: str = "2", **more: str) -> JsonObject:
    """A signed message; what ``more`` sets is signed, too."""
    message: dict[str, str] = {
        "Type": "Notification",
        "MessageId": "n-1",
        "TopicArn": TOPIC,
        "Message": "{}",
        "Timestamp": STAMP,
    } | more
    names = ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"]
    if message["Type"] != "Notification":
        names = ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"]
    signed = "".join(f"{name}\n{message[name]}\n" for name in names if name in message)
    method = hashes.SHA256() if version == "2" else hashes.SHA1()  # noqa: S303
    mark = _RSA.sign(signed.encode(), padding.PKCS1v15(), method)
    return {
        "SigningCertURL": CERTIFICATE_URL,
        "SignatureVersion": version,
        "Signature": base64.b64encode(mark).decode(),
        **message,
    }


def sns_headers(message: JsonObject) -> dict[str, str]:
    return {
        "x-amz-sns-message-type": str(message["Type"]),
        "x-amz-sns-message-id": str(message["MessageId"]),
    }
