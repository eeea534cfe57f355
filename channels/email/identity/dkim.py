"""A mail's own signatures, checked here (RFC 6376), for where no server that we trust wrote down what it
found.

dkimpy does the header and the key. Three things it would leave to us: a body of blanks takes it quadratic
time, in which nothing else in the process runs, so the body's hash is made here; so is it with blanks in a
signature and with a key that is made to be slow, which are refused; and it accepts ``l=``, SHA-1, keys under
test and fields nobody signed.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import hashlib
import hmac
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from channels.email.identity.layout import declares
from channels.email.identity.scan import MAX_FIELD, Unreadable
from channels.email.identity.signature import Head, Signed, head, tags
from gateway.engine.steps.apart import apart
from gateway.engine.struct import struct

__all__ = ["MAX_SIGNATURES", "REQUIRED", "Resolve", "Signed", "check"]

T = TypeVar("T")
Resolve = Callable[[str], Awaitable[bytes | None]]
"""The TXT record of a name, its strings joined; ``None`` where there is none. Raises ``OSError`` (a timeout
is one) where that can't be told now."""

MAX_SIGNATURES: Final = 6
"""Each may cost a look-up and some arithmetic; no ordinary mail has more."""
REQUIRED: Final = frozenset({"from", "to", "subject", "date", "message-id"})
SECONDS: Final = 10.0
"""For all look-ups of a mail together."""
MIN_KEY: Final = 1024
"""RFC 8301 §3.2"""
MAX_RECORD: Final = 1100
"""Bytes; a key of 4096 bits takes 750. Checking costs the cube of a key's length, and the sender chooses it."""
MAX_EXPONENT: Final = 1 << 32
MAX_HEADER: Final = 256 * 1024
MAX_FIELDS: Final = 1000
MAX_BLANKS: Final = 100
_QUIET: Final = logging.Logger("dkim", logging.CRITICAL + 1)  # noqa: LOG001 - heard by nobody
"""dkimpy tells its log what a sender wrote."""
_NAME: Final = bytes(range(33, 127)).replace(b":", b"")


@struct(frozen=True, slots=True, kw_only=True)
class _Split:
    """``header`` with its last line end. ``signatures`` are the values of the fields so named."""

    header: bytes
    body: bytes
    signatures: tuple[bytes, ...]
    types: tuple[bytes, ...]
    """The values of ``Content-Type``."""
    transfer: int
    """How many fields say how the body is encoded."""


async def check(raw: bytes, resolve: Resolve) -> tuple[Signed, ...]:
    """Every signature of a mail, from the top, those beyond ``MAX_SIGNATURES`` left out. Never raises but
    what ``resolve`` isn't meant to."""
    split = await _beside(functools.partial(_split, raw))
    if split is None:
        return ()
    heads = [_head(value) for value in split.signatures[:MAX_SIGNATURES]]
    records = await _records([one for one in heads if one and not _refused(one, split)], resolve)
    return await _beside(functools.partial(_checked, split, heads, records))


async def _records(heads: list[Head], resolve: Resolve) -> dict[str, bytes | None]:
    """The keys by their names. One that isn't there couldn't be looked up."""
    found: dict[str, bytes | None] = {}
    try:
        async with asyncio.timeout(SECONDS):
            for name in dict.fromkeys(_key_name(one) for one in heads):
                try:
                    found[name] = await resolve(name)
                except OSError:
                    continue
    except TimeoutError:
        pass
    return found


def _key_name(one: Head) -> str:
    return f"{one.selector}._domainkey.{one.domain}"


async def _beside(works: Callable[[], T]) -> T:
    return await apart(works, "email-dkim", gives_up=True)


# -- beside the loop -------------------------------------------------------------------------------------
def _checked(
    split: _Split, heads: list[Head | None], records: dict[str, bytes | None]
) -> tuple[Signed, ...]:
    @functools.cache
    def hashed(relaxed: bool) -> bytes:
        return _hash(split.body, relaxed=relaxed)

    out: list[Signed] = []
    for place, one in enumerate(heads):
        if one is None:
            out.append(Signed(domain="", why="unreadable"))
            continue
        why = _refused(one, split) or _wrong(split, place, one, records, hashed)
        covers = frozenset(one.covers)
        out.append(Signed(domain=one.domain, covers=covers, expires=one.expires, why=why))
    return tuple(out)


def _head(value: bytes) -> Head | None:
    flat = value.translate(bytes.maketrans(b"\t\r\n", b"   "))
    if b" " * MAX_BLANKS in flat:
        return None
    try:
        return head(value)
    except Unreadable:
        return None


def _refused(one: Head, split: _Split) -> str:
    """What is wrong whatever the key says."""
    if one.partial:
        return "partial"
    if one.algorithm != "rsa-sha256":
        return "algorithm"
    if not REQUIRED.issubset(one.covers):
        return "unsigned_field"
    return "" if _type_fixed(one, split) else "unsigned_type"


def _type_fixed(one: Head, split: _Split) -> bool:
    """Whether the signature leaves one way to read the body."""
    if split.transfer and (split.transfer > 1 or "content-transfer-encoding" not in one.covers):
        return False
    if len(split.types) != 1:
        return not split.types
    return "content-type" in one.covers or declares(split.types[0], split.body)


def _wrong(
    split: _Split,
    place: int,
    one: Head,
    records: dict[str, bytes | None],
    hashes: Callable[[bool], bytes],
) -> str:
    name = _key_name(one)
    if name not in records:
        return "unreachable"
    record = records[name]
    if record is None:
        return "no_key"
    if why := _key(record, one):
        return why
    if not hmac.compare_digest(hashes(one.relaxed), one.body_hash):
        return "body_changed"
    return "" if _verified(split.header, place, record) else "header_changed"


def _key(record: bytes, one: Head) -> str:
    """What the signer says of the key (RFC 6376 §3.6.1)."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    if len(record) > MAX_RECORD:
        return "key"
    try:
        found = tags(record.decode("ascii"))
        key = load_der_public_key(base64.b64decode(found.get("p", "")))
    except (UnicodeError, Unreadable, ValueError, UnsupportedAlgorithm):
        return "key"
    flags = _listed(found.get("t", ""))
    services, hashes = _listed(found.get("s", "*")), _listed(found.get("h", "sha256"))
    if found.get("v", "DKIM1") != "DKIM1" or found.get("k", "rsa") != "rsa":
        return "key"
    if not isinstance(key, RSAPublicKey) or key.key_size < MIN_KEY:
        return "key"
    if (
        key.public_numbers().e > MAX_EXPONENT
        or services.isdisjoint({"*", "email"})
        or "sha256" not in hashes
    ):
        return "key"
    if "y" in flags:
        return "testing"
    return "key" if "s" in flags and one.agent != one.domain else ""


def _listed(value: str) -> frozenset[str]:
    return frozenset(word.strip(" \t").lower() for word in value.split(":"))


def _verified(header: bytes, place: int, record: bytes) -> bool:
    import dkim  # type: ignore[import-untyped]

    def known(name: bytes, timeout: float) -> bytes:
        del name, timeout
        return record

    try:
        checker: Any = dkim.DKIM(header + b"\r\n", logger=_QUIET, minkey=MIN_KEY)
        found: Any = checker.verify_headerprep(place)
        if not found:
            return False
        fields, covers, lines = found
        del fields[b"bh"]  # compared already
        return checker.verify_sig(fields, covers, lines[place], known) is True
    except Exception:  # noqa: BLE001 - it has no list of what a hostile signature may raise
        return False


# -- bytes -----------------------------------------------------------------------------------------------
def _hash(body: bytes, *, relaxed: bool) -> bytes:
    """RFC 6376 §3.4.3 and §3.4.4."""
    body = body.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    if body and not body.endswith(b"\r\n"):
        body += b"\r\n"
    if relaxed:
        body = body.replace(b"\t", b" ")
        while b"  " in body:
            body = body.replace(b"  ", b" ")
        body = body.replace(b" \r\n", b"\r\n")
    end = len(body)
    while body.endswith(b"\r\n", 0, end):
        end -= 2
    kept = body[: end + 2] if end else (b"" if relaxed else b"\r\n")
    return hashlib.sha256(kept).digest()


def _split(raw: bytes) -> _Split | None:
    """Header and body, where every program would part them alike: each line of the header is a field or
    continues one, and no byte in it may end a line for some and not for others."""
    at, fields = 0, list[tuple[bytes, bytes]]()
    while at < len(raw):
        end = raw.find(b"\n", at, at + MAX_HEADER)
        line = raw[at:] if end < 0 else raw[at:end].removesuffix(b"\r")
        if b"\r" in line or b"\0" in line or len(fields) > MAX_FIELDS or at > MAX_HEADER:
            return None
        at += len(line) if end < 0 else end + 1 - at
        if not line:
            break
        if line[:1] in {b" ", b"\t"}:
            if not fields:
                return None
            name, value = fields.pop()
            if len(value) > MAX_FIELD:
                return None
            fields.append((name, value + b"\r\n" + line))
            continue
        name, colon, value = line.partition(b":")
        if not colon or not name or name.strip(_NAME):
            return None
        fields.append((name, value))
    lower = [(name.lower(), value) for name, value in fields]
    return _Split(
        header=b"".join(b"%b:%b\r\n" % field for field in fields),
        body=raw[at:],
        signatures=tuple(value for name, value in lower if name == b"dkim-signature"),
        types=tuple(value for name, value in lower if name == b"content-type"),
        transfer=sum(name == b"content-transfer-encoding" for name, _ in lower),
    )
