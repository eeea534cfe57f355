"""What ``Content-Type`` and ``Content-Disposition`` say (RFC 2045 §5.1, RFC 2183), and their parameters in
every spelling that is sent: quoted or not, cut into sections, in percent (RFC 2231), as encoded words."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote_to_bytes

from channels.email.mime import charsets, words
from channels.email.mime.limits import PARAMETERS
from gateway.engine.struct import struct

_TOKEN: Final = bytes(set(range(33, 127)) - set(b'()<>@,;:\\"/[]?='))
_SPACE: Final = b" \t\r\n"


@struct(frozen=True, slots=True)
class Params:
    """``word`` in lower case; each parameter's bytes under its name in lower case, the first of a name."""

    word: str
    raw: dict[str, bytes]
    charsets: dict[str, str]

    def get(self, name: str) -> str:
        """For people."""
        value = self.raw.get(name, b"")
        if name in self.charsets:
            return charsets.decode(value, self.charsets[name]).text
        return words.spelled_out(value)


def read(value: bytes) -> Params:
    value = _uncommented(value[:PARAMETERS])
    word, at = _word(value)
    found: list[tuple[str, bytes]] = []
    while at < len(value):
        at = _skip(value, at, _SPACE + b";")
        name, at = _until(value, at, b"=;")
        if at >= len(value) or value[at] != 0x3D:
            continue
        given, at = _given(value, _skip(value, at + 1, _SPACE))
        found.append((name.strip(_SPACE).decode("latin-1").lower(), given))
    return _joined(word, found)


def media_type(params: Params) -> str:
    """``type/subtype``; what is none is text, as RFC 2045 §5.2 has it."""
    kind, slash, sub = params.word.partition("/")
    good = slash and _is_token(kind) and _is_token(sub)
    return params.word if good else "text/plain"


def _is_token(word: str) -> bool:
    return bool(word) and word.isascii() and not word.encode().strip(_TOKEN)


def _word(value: bytes) -> tuple[str, int]:
    """The first word, also where the semicolon behind it is missing."""
    begin = _skip(value, 0, _SPACE)
    word, at = _until(value, begin, b";")
    pieces = word.split(None, 1)
    if len(pieces) == 2 and b"=" in pieces[1]:
        at = begin + len(pieces[0])
        word = pieces[0]
    said = b"".join(word.split()).strip(b'"')
    return said.decode("latin-1").lower(), at


def _skip(value: bytes, at: int, what: bytes) -> int:
    while at < len(value) and value[at] in what:
        at += 1
    return at


def _until(value: bytes, at: int, what: bytes) -> tuple[bytes, int]:
    begin = at
    while at < len(value) and value[at] not in what:
        at += 1
    return value[begin:at], at


def _given(value: bytes, at: int) -> tuple[bytes, int]:
    """A parameter's value, and where it ends."""
    if at >= len(value) or value[at] != 0x22:
        given, at = _until(value, at, b";")
        return given.strip(_SPACE), at
    out = bytearray()
    at += 1
    while at < len(value) and value[at] != 0x22:
        if value[at] == 0x5C and at + 1 < len(value):
            at += 1
        if value[at] not in b"\r\n":
            out.append(value[at])
        at += 1
    return bytes(out), _until(value, at, b";")[1]


def _uncommented(value: bytes) -> bytes:
    """Without its comments, which may be nested and hold no parameter."""
    if b"(" not in value:
        return value
    out = bytearray()
    depth, quoted, at = 0, False, 0
    while at < len(value):
        byte = value[at]
        width = 2 if byte == 0x5C and (quoted or depth) else 1
        if byte == 0x22 and not depth:
            quoted = not quoted
        if byte == 0x28 and not quoted:
            depth += 1
        if not depth:
            out += value[at : at + width]
        if byte == 0x29 and not quoted and depth:
            depth -= 1
        at += width
    return bytes(out) if not depth else value  # an open bracket is no comment


def _joined(word: str, found: list[tuple[str, bytes]]) -> Params:
    """Sections in the order of their numbers, percent undone where the name says so."""
    plain: dict[str, bytes] = {}
    sections: dict[str, dict[int, tuple[bytes, bool]]] = {}
    for name, given in found:
        base, star, rest = name.partition("*")
        if not star:
            plain.setdefault(base, given)
            continue
        number = rest.rstrip("*")
        if not number or (number.isascii() and number.isdecimal() and len(number) < 4):
            section = sections.setdefault(base, {})
            section.setdefault(int(number or "0"), (given, rest.endswith("*") or not rest))
    named: dict[str, str] = {}
    for base, parts in sections.items():
        ordered = [parts[number] for number in sorted(parts)]
        first, percent = ordered[0]
        if percent and first.count(b"'") >= 2:
            charset, _, first = first.split(b"'", 2)
            named[base] = charset.decode("latin-1")
            ordered[0] = (first, percent)
        plain[base] = b"".join(unquote_to_bytes(part) if coded else part for part, coded in ordered)
    return Params(word, plain, named)
