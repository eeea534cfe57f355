"""One text part as a person reads it."""

from __future__ import annotations

import re
from typing import Final

from channels.email.mime import charsets, clean, plain, transfer
from channels.email.mime.html.layout import shown
from channels.email.mime.limits import HTML as MOST_HTML
from channels.email.mime.limits import TEXT, OverLimitError
from channels.email.mime.parts import Part
from gateway.engine.struct import struct

PLAIN: Final = frozenset({"text/plain", "text/markdown", "text/enriched", "text/richtext"})
HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_ENRICHED: Final = frozenset({"text/enriched", "text/richtext"})
_BY_BYTES: Final = frozenset({"", "7bit", "8bit"})
"""Encodings in which no text of two bytes a character is sent (RFC 2781 §4)."""
_INLINE_FILE: Final = re.compile(rb"data:[^\"'\s<>]*+", re.IGNORECASE)


@struct(frozen=True, slots=True)
class Text:
    """``decoded`` and ``quote_at`` as in ``Mail``."""

    text: str
    hidden: str = ""
    quote_at: int | None = None
    html: bool = False
    encrypted: bool = False
    decoded: str = ""


def read(part: Part, start: int | None = None, end: int | None = None) -> Text:
    """A part's text, or that of a stretch of it, as it stands there. Raises ``OverLimitError``."""
    html = start is None and part.media_type in HTML
    if start is not None:
        data = part.data[start:end]
    elif html:
        data = _without_files(part)
    else:
        data = part.content() if part.size <= 4 * TEXT else b""
        if part.size > 4 * TEXT:
            raise OverLimitError(f"more than {TEXT} bytes of text")
    label = part.type.get("charset") if start is None else ""
    if charsets.is_wide(label) and part.encoding in _BY_BYTES and b"\0" not in data:
        label = ""
    decoded = charsets.decode(data, label or (_meta(data) if html else ""))
    if html:
        seen = shown(decoded.text)
        return Text(seen.text, seen.hidden, seen.quote_at, html=True, decoded=decoded.used)
    text = plain.unarmoured(clean.text(decoded.text))
    said = text.text
    if part.type.get("format").casefold() == "flowed":
        said = plain.unflowed(said, delete_space=part.type.get("delsp").casefold() == "yes")
    if part.media_type in _ENRICHED:
        said = plain.unenriched(said)
    return Text(_trimmed(said), encrypted=text.encrypted, decoded=decoded.used)


def _without_files(part: Part) -> bytes:
    data = transfer.undone(part.data[part.start : part.end], part.encoding)
    if len(data) > MOST_HTML:
        data = _INLINE_FILE.sub(b"data:", data)
    if len(data) > MOST_HTML:
        raise OverLimitError(f"more than {MOST_HTML} bytes of HTML")
    return data


def _meta(data: bytes) -> str:
    """The character set that an HTML page names itself, in letters that UTF-16 doesn't have: Word writes
    ``unicode`` there, whatever it writes (HTML standard §13.2.3.2)."""
    head = data[:1024].lower()
    at = head.find(b"charset=")
    if at < 0:
        return ""
    named = head[at + 8 : at + 60].lstrip(b"\"' ")
    end = next((n for n, byte in enumerate(named) if byte in b"\"' ;/>"), len(named))
    label = named[:end].decode("latin-1")
    return "utf-8" if charsets.is_wide(label) else label


def _trimmed(text: str) -> str:
    """Without empty lines around it, and blanks at its lines' ends but for a signature's mark."""
    lines = [line if line == "-- " else line.rstrip() for line in text.split("\n")]
    return "\n".join(lines).strip("\n")
