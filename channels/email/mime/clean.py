"""The one boundary at which text loses what could break a store, a terminal or a person's trust: control
characters, tricks with the direction of writing, characters that can't be seen."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from channels.email.mime.limits import NAME

_BREAKS: Final = dict.fromkeys([0x0B, 0x0C, 0x0D, 0x1C, 0x1D, 0x1E, 0x85, 0x2028, 0x2029], "\n")
_GONE: Final = dict.fromkeys(
    [
        *(code for code in range(0x20) if code not in {0x09, 0x0A}),
        *range(0x7F, 0xA0),
        *range(0x202A, 0x202F),  # embeddings and overrides: text that reads other than it is
        *range(0x2060, 0x2070),  # isolates, and what only joins, parts or applies unseen
        *(0xAD, 0x34F, 0x180E, 0x200B, 0x3164, 0xFEFF, 0xFFA0),
        *range(0xFFF9, 0xFFFC),
        *range(0xE0000, 0xE0080),  # tags: a second, invisible alphabet
    ]
)
_LOST: Final = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")  # halves of a pair: no text at all
_TABLE: Final = {**_GONE, **_LOST, **_BREAKS}
_UNSEEN: Final = re.compile("[\u061c\u200c-\u200f\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")
"""Letters of some languages and emoji need one or two of these. A row of them is read by nobody but a
machine, which may find a second text in it."""
_UNSAFE: Final = str.maketrans(dict.fromkeys('<>:"|?*\n\t', "_"))
_MARKS: Final = dict.fromkeys([0x200E, 0x200F, 0x061C])
_DEVICES: Final = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}
)
_LONG_WORD: Final = 256


def text(value: str) -> str:
    """Lines end in one newline; tabs stay; composed characters where there are some."""
    value = value.replace("\r\n", "\n")
    if value.isascii() and value.replace("\n", "").replace("\t", "").isprintable():
        return value
    return _composed(_UNSEEN.sub("", value.translate(_TABLE)))


def line(value: str) -> str:
    """All of it on one line, with single spaces."""
    return " ".join(text(value).split())


def filename(value: str) -> str:
    """A name that only names: no folder, no device, no hidden ending; empty where nothing is left."""
    name = line(value.replace("\\", "/").rpartition("/")[2]).translate(_MARKS)
    name = name.translate(_UNSAFE).strip(". ")
    stem, dot, ending = name.rpartition(".")
    if len(name) > NAME:
        room = NAME - len(ending) - 1
        name = f"{stem[:room]}.{ending}" if dot and len(ending) <= 16 else name[:NAME]
    return f"_{name}" if name.partition(".")[0].casefold().strip() in _DEVICES else name


def _composed(value: str) -> str:
    """Form C, word by word: the marks of one endless word would be sorted in quadratic time."""
    if value.isascii():
        return value
    return " ".join(
        unicodedata.normalize("NFC", word) if len(word) <= _LONG_WORD else word
        for word in value.split(" ")
    )
