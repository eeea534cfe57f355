"""Bytes become text: by their label if it is true, else by what they look like.

Labels are read the way browsers read them (WHATWG Encoding), so that none ever reaches a codec that runs
or unpacks something (``unicode_escape``, ``utf-7``, ``zlib``). Nothing is guessed from statistics.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=false
# (it reads the types off webencodings itself, and mypy wants stubs)
from __future__ import annotations

from typing import Final

import webencodings  # type: ignore[import-untyped]

from gateway.engine.struct import struct

# What browsers call by another name, or don't read any more but people still send.
_CODECS: Final = {
    "gbk": ("gb18030",),
    "iso-2022-jp": ("iso2022_jp", "iso2022_jp_2", "iso2022_jp_ext"),
    "euc-kr": ("cp949",),
    "shift_jis": ("cp932", "shift_jis_2004"),
    "big5": ("big5hkscs", "cp950"),
    "euc-jp": ("euc_jp", "euc_jis_2004"),
    "iso-8859-8-i": ("iso8859-8",),
    "x-mac-cyrillic": ("mac-cyrillic",),
    "macintosh": ("mac-roman",),
    "windows-874": ("cp874",),
}
_OTHERS: Final = {
    "utf8mb4": "utf-8",
    "utf8mb3": "utf-8",
    "cp936": "gb18030",
    "ms936": "gb18030",
    "gb18030-2000": "gb18030",
    "cp949": "cp949",
    "ms949": "cp949",
    "cp932": "cp932",
    "cp950": "cp950",
    "cp437": "cp437",
    "cp850": "cp850",
    "cp852": "cp852",
    "hz": "hz",
    "hz-gb-2312": "hz",
    "iso-2022-kr": "iso2022_kr",
    "csiso2022kr": "iso2022_kr",
    "iso-2022-jp-1": "iso2022_jp_ext",
    "iso-2022-jp-2": "iso2022_jp_2",
    "iso-2022-jp-3": "iso2022_jp_3",
    "iso-2022-jp-2004": "iso2022_jp_2004",
}
_NARROW: Final = {"us-ascii": "ascii", "ascii": "ascii", "gb2312": "gb2312"}
_WIDE: Final = frozenset({"utf-16le", "utf-16be"})
_STATEFUL: Final = frozenset({"hz", "iso2022_kr", *_WIDE, *_CODECS["iso-2022-jp"]})
_NO_TEXT: Final = frozenset({"replacement", "x-user-defined"})
_MARKS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"))
_JAPANESE: Final = (b"\x1b$B", b"\x1b$@", b"\x1b(J", b"\x1b(I", b"\x1b$(D")
_LONG_LABEL: Final = 64


@struct(frozen=True, slots=True)
class Decoded:
    """``used`` names the character set where the label was wrong or missing, and whether something was
    unreadable in it; empty where all was as labelled."""

    text: str
    used: str = ""


def decode(data: bytes, label: str = "") -> Decoded:
    label = label.strip().strip("\"'").lower()[:_LONG_LABEL]
    codecs = _codecs(label)
    for mark, codec in _MARKS:
        if data.startswith(mark):
            data = data[len(mark) :]
            codecs = (codec,)
            break
    if not codecs or not _STATEFUL.intersection(codecs):
        japanese = _japanese(data)
        if japanese is not None:
            return Decoded(japanese, "iso-2022-jp")
    for codec in codecs:
        if (text := _strictly(data, codec)) is not None:
            return Decoded(text, "" if _as_labelled(data, label) else codec)
    return _by_looks(data, codecs)


def is_wide(label: str) -> bool:
    """Whether it means two bytes a character, in which nothing that can be read byte by byte is written."""
    return not _WIDE.isdisjoint(_codecs(label.lower()))


def _codecs(label: str) -> tuple[str, ...]:
    """Those that a label stands for, the first that fits counts; none for a label that means nothing."""
    if label in {"us-ascii", "ascii"}:
        return ("ascii",)
    if label in _OTHERS:
        return (_OTHERS[label],)
    if not label.isascii() or not label.isprintable():
        return ()
    found = webencodings.lookup(label)
    if found is None or found.name in _NO_TEXT:
        return ()
    return _CODECS.get(found.name, (found.name,))


def _by_looks(data: bytes, codecs: tuple[str, ...]) -> Decoded:
    if (text := _strictly(data, "utf-8")) is not None:
        return Decoded(text, "" if text.isascii() else "utf-8")
    if codecs and codecs[0] not in {"ascii", "windows-1252"}:
        text = data.decode(codecs[0], "replace")
        lost = text.count("\ufffd")
        read = sum(1 for character in text if character > "\x7f") - lost
        if read > lost:  # the label tells the truth, but for a few bytes
            return Decoded(text, f"{codecs[0]}, with gaps")
    text = data.decode("windows-1252", "replace")
    return Decoded(text, "windows-1252, with gaps" if "\ufffd" in text else "windows-1252")


def _japanese(data: bytes) -> str | None:
    if not any(escape in data for escape in _JAPANESE):
        return None
    for codec in _CODECS["iso-2022-jp"]:
        if (text := _strictly(data, codec)) is not None:
            return text
    return None


def _strictly(data: bytes, codec: str) -> str | None:
    try:
        return data.decode(codec)
    except UnicodeError:
        return None


def _as_labelled(data: bytes, label: str) -> bool:
    narrow = _NARROW.get(label)
    return narrow is None or _strictly(data, narrow) is not None
