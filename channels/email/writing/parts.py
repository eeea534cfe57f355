"""The body of a letter: parts in parts (RFC 2046), each in letters that every server passes on."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Sequence

from channels.email.writing.clean import one_line
from channels.email.writing.fields import field, parameters
from gateway.engine.struct import struct

MOST_NAME = 120


@struct(frozen=True, slots=True, kw_only=True)
class File:
    """A file that goes with a letter. Its name is made harmless, whatever it says."""

    name: str
    media_type: str
    content: bytes


@struct(frozen=True, slots=True)
class Part:
    """A part with its own fields, as written. ``inside`` are the parts of a multipart."""

    head: bytes
    body: bytes
    inside: tuple[Part, ...] = ()

    @property
    def written(self) -> bytes:
        return self.head + b"\r\n" + self.body


def text_part(text: str, subtype: str, **more: str) -> Part:
    """Text, as quoted-printable or, where that is longer, as base64."""
    given = {"charset": "utf-8", **more}
    octets = text.replace("\n", "\r\n").encode()
    kind = field("Content-Type", parameters(f"text/{subtype}", given.items()), "; ")
    quoted = binascii.b2a_qp(octets, istext=True).replace(b"=\n", b"=\r\n")
    if len(quoted) > len(octets) * 3 // 2 + 100:
        return _base64(kind, octets)
    return Part(kind + _encoding("quoted-printable"), quoted)


def file_part(file: File) -> Part:
    named = [("filename", file_name(file.name))]
    head = field("Content-Type", [file.media_type])
    return _base64(
        head + field("Content-Disposition", parameters("attachment", named), "; "), file.content
    )


def multipart(subtype: str, parts: Sequence[Part], about: str) -> Part:
    """The parts together. The boundary follows from what is told and ``about``: a letter that is written
    again has the same bytes. No line of a part can look like it: quoted-printable never has ``=_``."""
    digest = hashlib.sha256("\0".join((about, subtype)).encode())
    for part in parts:
        digest.update(hashlib.sha256(part.written).digest())
    boundary = f"=_{digest.hexdigest()[:40]}"
    mark = f"--{boundary}".encode()
    body = b"".join(b"%b\r\n%b\r\n" % (mark, part.written) for part in parts) + mark + b"--\r\n"
    head = field("Content-Type", parameters(f"multipart/{subtype}", [("boundary", boundary)]), "; ")
    return Part(head + _encoding("7bit"), body, tuple(parts))


def file_name(name: str) -> str:
    """A name that leads nowhere, hides no ending and fits."""
    harmless = one_line("".join("_" if c in '/\\:*?"<>|' else c for c in name)).strip(". ")
    if len(harmless) > MOST_NAME:
        stem, dot, ending = harmless.rpartition(".")
        ending = dot + ending if stem and len(ending) < 16 else ""
        harmless = harmless[: MOST_NAME - len(ending)].rstrip(". ") + ending
    return harmless or "file"


def _base64(head: bytes, content: bytes) -> Part:
    told = base64.b64encode(content)
    lines = b"".join(told[at : at + 76] + b"\r\n" for at in range(0, len(told), 76))
    return Part(head + _encoding("base64"), lines)


def _encoding(name: str) -> bytes:
    return field("Content-Transfer-Encoding", [name])
