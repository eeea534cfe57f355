"""Transfer encodings undone (RFC 2045 §6): whatever the bytes, something comes out, in one pass."""

from __future__ import annotations

import binascii
from typing import Final

_BASE64: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
_NOT_BASE64: Final = bytes(set(range(256)) - set(_BASE64))
_UU: Final = frozenset({"x-uuencode", "uuencode", "x-uue", "uue"})
_PIECES: Final = 1_000_000


def encoding(value: bytes) -> str:
    """The one word that a ``Content-Transfer-Encoding`` says."""
    word = value.partition(b";")[0].partition(b"(")[0].strip().strip(b'"')
    return word.decode("latin-1").lower()


def undone(data: bytes, name: str) -> bytes:
    if name == "base64":
        return _base64(data)
    if name == "quoted-printable":
        return binascii.a2b_qp(data)
    if name in _UU:
        return _uu(data)
    return data


def _base64(data: bytes) -> bytes:
    """Also of several pieces, each with its own padding, and with foreign characters in between."""
    data = data.translate(None, _NOT_BASE64)
    if data.rstrip(b"=").count(b"=") > _PIECES:  # no program writes that; don't take it to pieces
        data = data.replace(b"=", b"")
    return b"".join(_quads(piece) for piece in data.split(b"=") if piece)


def _quads(data: bytes) -> bytes:
    over = len(data) % 4
    if over == 1:  # six bits are no byte
        data, over = data[:-1], 0
    return binascii.a2b_base64(data + b"==" if over else data)


def _uu(data: bytes) -> bytes:
    if data.count(b"\n") > _PIECES:
        return data
    out: list[bytes] = []
    for each in data.split(b"\n"):
        line = each.rstrip(b"\r")
        if line == b"end":
            break
        if line.startswith(b"begin "):
            continue
        try:
            out.append(binascii.a2b_uu(line))
        except binascii.Error:
            continue
    return b"".join(out)
