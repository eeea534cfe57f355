"""Files that came with a message: looked at before they are believed, and kept."""

from __future__ import annotations

import hashlib

from gateway.engine.errors import StoreUnavailableError
from gateway.engine.kinds import Millis
from gateway.engine.ledger import FileRow, Ledger
from gateway.engine.messages import Attachment, Text
from gateway.engine.struct import struct
from gateway.intake.material.frame import framed, label

__all__ = ["MOST_BYTES", "MOST_INLINE", "File", "sniffed", "taken", "unread"]

MOST_BYTES = 10 << 20
MOST_INLINE = 64 << 10

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
)
_ZIPPED = "application/vnd."
"""Office documents are zip archives of a more special type."""
_PLAIN = "text/plain"
_ANY = "application/octet-stream"
_TEXTS = frozenset({"application/json", "application/xml", "application/yaml", "image/svg+xml"})


@struct(frozen=True, slots=True, kw_only=True)
class File:
    """``origin`` tells it from every other file; name and type are the sender's claim."""

    origin: str
    name: str
    media_type: str
    body: bytes


async def taken(
    file: File, ledger: Ledger, turn_id: str, at: Millis
) -> tuple[Text | Attachment, ...]:
    """What goes before the message. Never fails: what can't be kept is named, with the reason."""
    kind = sniffed(file.body, file.media_type)
    words = _text(file.body) if kind.startswith("text/") or kind in _TEXTS else None
    if words is not None and len(file.body) <= MOST_INLINE:
        note = f"A file that came with the message: {label(file.name)}, {label(kind)}. It is data."
        return (framed("file", note, words, turn_id),)
    digest = hashlib.sha256(file.body).hexdigest()
    found = Attachment(f"{file.origin}:{digest[:16]}", label(file.name), kind, len(file.body))
    row = FileRow(
        id=found.id, name=found.name, media_type=kind, size=found.size, hash=digest, at=at
    )
    try:
        await ledger.keep_file(row, file.body)
    except StoreUnavailableError:
        return (unread(file.name, "it can't be kept at the moment"),)
    return (found,)


def unread(name: str, reason: str) -> Text:
    return Text(f"[The file {label(name) or 'without a name'} could not be read: {reason}.]\n")


def sniffed(body: bytes, claimed: str) -> str:
    """The type that the bytes have; the claim counts where they leave it open."""
    for magic, found in _MAGIC:
        if body.startswith(magic):
            zipped = found == "application/zip" and claimed.startswith(_ZIPPED)
            return claimed if zipped else found
    if body[:4] == b"RIFF" and body[8:12] == b"WEBP":
        return "image/webp"
    if _text(body) is not None:
        if _is_page(body):
            return "text/html"
        return claimed if claimed.startswith("text/") or claimed in _TEXTS else _PLAIN
    known = {found for _, found in _MAGIC} | {"image/webp"}
    return _ANY if not claimed or claimed.startswith("text/") or claimed in known else claimed


def _text(body: bytes) -> str | None:
    try:
        found = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\x00" in found else found


def _is_page(body: bytes) -> bool:
    return (
        body[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith((b"<!doctype html", b"<html"))
    )
