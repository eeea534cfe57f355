"""What a ``DKIM-Signature`` says of itself (RFC 6376 §3.5), before anything is computed."""

from __future__ import annotations

import base64
import binascii
from typing import Final

from channels.email.identity.domains import a_label
from channels.email.identity.scan import Unreadable, unfolded
from gateway.engine.kinds import Millis
from gateway.engine.struct import struct

__all__ = ["MAX_SIGNATURE", "Head", "Signed", "head", "tags"]

MAX_SIGNATURE: Final = 8 * 1024
MAX_COVERS: Final = 150
_NAME: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")
_LABEL: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")


@struct(frozen=True, slots=True, kw_only=True)
class Signed:
    """One signature, checked. ``why`` is one stable word for what is wrong with it; empty where it holds.

    ``covers`` are the signed fields. ``expires`` is the signer's own deadline.
    """

    domain: str
    covers: frozenset[str] = frozenset()
    expires: Millis | None = None
    why: str = ""


@struct(frozen=True, slots=True, kw_only=True)
class Head:
    domain: str
    selector: str
    agent: str
    """The domain of ``i=``; the signature's own where that isn't there."""
    algorithm: str
    relaxed: bool
    """The body's canonical form."""
    covers: tuple[str, ...]
    partial: bool
    """Signs only the beginning of the body (``l=``): anybody may append."""
    body_hash: bytes
    expires: Millis | None


def tags(line: str) -> dict[str, str]:
    """A tag list (RFC 6376 §3.2), names in lower case so that none hides by its spelling."""
    *specs, last = line.split(";")
    out: dict[str, str] = {}
    for spec in (*specs, last) if last.strip(" \t") else specs:
        name, equals, value = spec.partition("=")
        name = name.strip(" \t").lower()
        if not equals or not name or not _NAME.issuperset(name) or name in out:
            raise Unreadable
        out[name] = value.strip(" \t")
    return out


def head(value: bytes) -> Head:
    """Raises ``Unreadable``."""
    if len(value) > MAX_SIGNATURE:
        raise Unreadable
    found = tags(unfolded(value))
    domain = a_label(found.get("d", ""))
    selector = found.get("s", "").lower()
    covers = tuple(name.strip(" \t").lower() for name in found.get("h", "").split(":"))
    form, _, body = found.get("c", "simple/simple").lower().partition("/")
    agent = a_label(found["i"].rpartition("@")[2]) if "i" in found else domain
    labels = selector.split(".")
    if (
        domain is None
        or agent is None
        or not all(label and _LABEL.issuperset(label) for label in labels)
        or len(covers) > MAX_COVERS
        or not {form, body or "simple"} <= {"simple", "relaxed"}
    ):
        raise Unreadable
    return Head(
        domain=domain,
        selector=selector,
        agent=agent,
        algorithm=found.get("a", "").lower(),
        relaxed=body == "relaxed",
        covers=covers,
        partial="l" in found,
        body_hash=_base64(found.get("bh", "")),
        expires=_moment(found["x"]) if "x" in found else None,
    )


def _base64(text: str) -> bytes:
    packed = text.replace(" ", "").replace("\t", "")
    try:
        return base64.b64decode(packed, validate=True)
    except (binascii.Error, ValueError):
        raise Unreadable from None


def _moment(digits: str) -> Millis:
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 12):
        raise Unreadable
    return Millis(int(digits) * 1000)
