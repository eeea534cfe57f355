"""Encoded words in a header (RFC 2047), for people: also those that break its rules, each byte once."""

from __future__ import annotations

import binascii
from typing import Final

from channels.email.mime import charsets, clean, transfer
from channels.email.mime.limits import FIELD
from gateway.engine.struct import struct

_SPACE: Final = b" \t\r\n"


@struct(frozen=True, slots=True)
class _Word:
    charset: str
    data: bytes
    end: int


def spelled_out(value: bytes) -> str:
    """The text of an unstructured value, on one line, without control characters."""
    return clean.line(unencoded(value))


def unencoded(value: bytes) -> str:
    """As ``spelled_out``, with whatever the words spell, line breaks included."""
    value = value[:FIELD]
    out: list[str] = []
    pending: list[bytes] = []  # words that follow one another share their characters' bytes
    charset = ""
    at = begun = 0
    last = value.rfind(b"?=")  # nothing behind it is a word, and nobody has to look for its end
    while 0 <= (found := value.find(b"=?", at)) < last:
        if (word := _word(value, found)) is None:
            at = found + 2
            continue
        between = value[begun:found]
        joined = bool(pending) and not between.strip(_SPACE)
        if pending and not (joined and word.charset == charset):
            out.append(charsets.decode(b"".join(pending), charset).text)
            pending.clear()
        if not joined:
            out.append(_plain(between))
        charset = word.charset
        pending.append(word.data)
        at = begun = word.end
    if pending:
        out.append(charsets.decode(b"".join(pending), charset).text)
    out.append(_plain(value[begun:]))
    return "".join(out)


def _word(value: bytes, at: int) -> _Word | None:
    """``=?charset?q?text?=``. Its text may hold spaces, which the RFC forbids and people's programs write."""
    mark = value.find(b"?", at + 2)
    if mark < 0 or mark - at > 80 or value[mark + 2 : mark + 3] != b"?":
        return None
    kind = value[mark + 1 : mark + 2].lower()
    end = value.find(b"?=", mark + 3)
    if end < 0 or kind not in {b"q", b"b"}:
        return None
    text = value[mark + 3 : end]
    charset = value[at + 2 : mark].partition(b"*")[0].decode("latin-1")  # RFC 2231 §5: a language
    if kind == b"b":
        return _Word(charset, transfer.undone(text, "base64"), end + 2)
    return _Word(charset, binascii.a2b_qp(text.replace(b"\n", b""), header=True), end + 2)


def _plain(data: bytes) -> str:
    """Bytes between the words: ASCII by the rules, whatever their program used in life."""
    return charsets.decode(data).text
