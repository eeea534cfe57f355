"""The last look at a letter's bytes: read again by a scanner that shares nothing with what wrote them, they
must say what was meant and nothing besides.

A header injected through a name, a subject or an id would be a field more, or another value. Whatever
differs raises ``LetterError``, and the letter stays here.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from urllib.parse import unquote

from channels.email.writing.fields import MOST_LINE_EVER, LetterError
from gateway.engine.struct import struct

_ENCODED = re.compile(r"=\?utf-8\?B\?([A-Za-z0-9+/]+={0,2})\?=")
_BOUNDARY = re.compile(r'multipart/(mixed|alternative); boundary="(=_[0-9a-f]{40})"')
_PLAIN = bytes((*b"\t\r\n", *range(0x20, 0x7F)))


@struct(frozen=True, slots=True, kw_only=True)
class Meant:
    """What the bytes have to say. ``texts`` are media types and octets, ``files`` media types,
    names and octets."""

    date: str
    from_name: str
    from_address: str
    to: tuple[str, ...]
    cc: tuple[str, ...]
    reply_to: str
    subject: str
    message_id: str
    in_reply_to: str
    references: tuple[str, ...]
    auto: str
    loop: str
    suppress: str
    texts: tuple[tuple[str, bytes], ...]
    files: tuple[tuple[str, str, bytes], ...]


Fields = Sequence[tuple[str, str]]


def check(raw: bytes, meant: Meant) -> None:
    """Raises ``LetterError``."""
    _clean(raw)
    given, body = _split(raw, "header")
    expected = _expected(meant)
    count = len(expected)
    if [name for name, _ in given[:count]] != [name for name, _ in expected]:
        raise LetterError("header", "it has other fields than were meant")
    for (name, value), (_, wanted) in zip(given[:count], expected, strict=True):
        said = _words(value) if name in {"From", "Subject"} else value
        if said != wanted:
            raise LetterError(name, "it reads otherwise than was meant")
    if _leaves(given[count:], body) != [*meant.texts, *meant.files]:
        raise LetterError("body", "it reads otherwise than was meant")


def _clean(raw: bytes) -> None:
    """No 8-bit letter, NUL or control, no line end but CRLF, no line that a server may cut."""
    if raw.translate(None, _PLAIN):
        raise LetterError("letter", "it holds a control or a letter beyond ASCII")
    if not raw.endswith(b"\r\n") or not ends_lines_well(raw):
        raise LetterError("letter", "a line doesn't end with CR and LF")
    if max(map(len, raw.split(b"\r\n"))) > MOST_LINE_EVER:
        raise LetterError("letter", f"a line has more than {MOST_LINE_EVER} characters")


def ends_lines_well(raw: bytes) -> bool:
    """Whether every line ends with CR and LF, and neither stands anywhere else."""
    return raw.count(b"\r\n") == raw.count(b"\n") == raw.count(b"\r")


def _expected(meant: Meant) -> list[tuple[str, str]]:
    sender = f"{meant.from_name} <{meant.from_address}>" if meant.from_name else meant.from_address
    fields = [
        ("Date", meant.date),
        ("From", sender),
        ("To", ", ".join(meant.to)),
        ("Cc", ", ".join(meant.cc)),
        ("Reply-To", meant.reply_to),
        ("Subject", meant.subject),
        ("Message-ID", meant.message_id),
        ("In-Reply-To", meant.in_reply_to),
        ("References", " ".join(meant.references)),
        ("Auto-Submitted", meant.auto),
        ("X-Auto-Response-Suppress", meant.suppress),
        ("X-June-Loop", meant.loop),
        ("MIME-Version", "1.0"),
    ]
    optional = {"Cc", "Reply-To", "In-Reply-To", "References", "X-June-Loop"}
    return [(name, value) for name, value in fields if value or name not in optional]


# -- reading ---------------------------------------------------------------------------------------------
def _split(raw: bytes, where: str) -> tuple[list[tuple[str, str]], bytes]:
    """The fields, unfolded, and what stands behind the first empty line."""
    head, gap, body = raw.partition(b"\r\n\r\n")
    if not gap:
        raise LetterError(where, "no empty line ends it")
    fields: list[tuple[str, str]] = []
    for line in head.decode("ascii").split("\r\n"):
        if line[:1] in {" ", "\t"}:
            if not fields or not line.strip(" \t"):
                raise LetterError(where, "a line of it continues nothing, or with nothing")
            name, value = fields[-1]
            fields[-1] = (name, f"{value} {line.lstrip(' ')}" if value else line.lstrip(" "))
            continue
        name, colon, value = line.partition(":")
        if not colon or not name or not all("!" <= c <= "~" for c in name):
            raise LetterError(where, "a line of it is no field")
        fields.append((name, value.removeprefix(" ")))
    return fields, body


def _words(value: str) -> str:
    """A value as a person reads it: encoded words joined and decoded, a quoted name without its quotes."""
    if value.startswith('"'):
        name, end, rest = value[1:].rpartition('" <')
        if not end:
            return value
        plain = name.replace('\\"', '"').replace("\\\\", "\\")
        return f"{plain} <{rest}"
    pieces, told, last = value.split(" "), "", False
    for n, piece in enumerate(pieces):
        encoded = _ENCODED.fullmatch(piece)
        told += "" if not n or (encoded and last) else " "
        told += base64.b64decode(encoded[1]).decode(errors="replace") if encoded else piece
        last = encoded is not None
    return told


_Leaf = tuple[str, bytes] | tuple[str, str, bytes]


def _leaves(fields: Fields, body: bytes) -> list[_Leaf]:
    """The parts that hold something, in order: texts, and files with their names."""
    given = dict(fields)
    kind, encoding = given.get("Content-Type", ""), given.get("Content-Transfer-Encoding", "")
    named = given.get("Content-Disposition")
    names = ["Content-Type", "Content-Disposition", "Content-Transfer-Encoding"]
    if [name for name, _ in fields] != [name for name in names if name in given]:
        raise LetterError("Content-Type", "a part has other fields than were meant")
    if (found := _BOUNDARY.fullmatch(kind)) and named is None and encoding == "7bit":
        return [leaf for part in _parts(body, found[2]) for leaf in _leaves(*_split(part, "part"))]
    octets = _decoded(body, encoding)
    if named is not None:
        return [(kind, _name(named), octets)]
    if kind not in {'text/plain; charset="utf-8"; format="flowed"', 'text/html; charset="utf-8"'}:
        raise LetterError("Content-Type", "it isn't what was meant")
    return [(kind.partition(";")[0], octets)]


def _name(disposition: str) -> str:
    """The one name that a file's disposition gives it."""
    said = disposition.removeprefix("attachment; filename")
    if said.startswith('="') and said.endswith('"') and '"' not in said[2:-1]:
        return said[2:-1]
    pieces = disposition.split("; ")[1:]
    told = ""
    for n, piece in enumerate(pieces):
        name, _, value = piece.partition("=")
        if name != ("filename*" if len(pieces) == 1 else f"filename*{n}*"):
            raise LetterError("Content-Disposition", "it isn't what was meant")
        told += value
    return unquote(told.removeprefix("utf-8''"))


def _parts(body: bytes, boundary: str) -> list[bytes]:
    mark = b"--" + boundary.encode()
    before, *parts = (b"\r\n" + body).split(b"\r\n" + mark)
    if before or len(parts) < 2 or parts[-1] != b"--\r\n":
        raise LetterError("body", "its parts don't begin and end as was meant")
    if not all(part.startswith(b"\r\n") for part in parts[:-1]):
        raise LetterError("body", "its parts don't begin and end as was meant")
    return [part[2:] for part in parts[:-1]]


def _decoded(body: bytes, encoding: str) -> bytes:
    if encoding == "quoted-printable":
        return binascii.a2b_qp(body)
    if encoding == "base64":
        return base64.b64decode(body)
    raise LetterError("Content-Transfer-Encoding", "it isn't what was meant")
