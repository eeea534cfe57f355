"""A style's declarations as a browser takes them: what isn't valid is dropped, the last of the others counts,
and a shorthand says what its longhands are (CSS Syntax §5, CSS Cascade §3). Pure, linear."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from channels.email.mime.html.valid import WIDE, font_size, is_a, valid, words

Declared = dict[str, str]

_MARK: Final = re.compile(
    r"(?<![\w-])url\(\s*+(?![\"'\s])(?:[^)\\]++|\\.)*+\)?"
    r"|\"(?:[^\"\\\n]++|\\.)*+\"?|'(?:[^'\\\n]++|\\.)*+'?|\\.|[;()\[\]{}]",
    re.DOTALL | re.IGNORECASE,
)
_ESCAPED: Final = re.compile(r"\\(?:([0-9a-f]{1,6}+)\s?|([^0-9a-f\n]))", re.IGNORECASE)
_IMPORTANT: Final = re.compile(r"!\s*+important$")
# The names that every browser still takes with its old prefix.
_PREFIXED: Final = {
    f"-webkit-{name}": name
    for name in (
        *("transform", "filter", "opacity", "clip-path", "mask", "mask-image", "mask-size"),
        *("background-clip", "text-fill-color"),
    )
}


def uncommented(source: str) -> str:
    out: list[str] = []
    for piece in source.replace("<!--", " ").replace("-->", " ").split("/*"):
        out.append(piece.partition("*/")[2] if out else piece)
    return " ".join(out)


def declared(style: str) -> Declared:
    """What is important stands under its name with a ``!`` before it."""
    found: Declared = {}
    for piece in _pieces(uncommented(style)):
        written, colon, value = piece.partition(":")
        if not colon:
            continue
        name = _plain(written)
        name = _PREFIXED.get(name, name)
        said = _plain(value)
        whole = _IMPORTANT.sub("", said)
        mark = "!" if whole != said else ""
        whole = whole.rstrip()
        if valid(name, whole):
            found |= {f"{mark}{each}": value for each, value in _long(name, whole)}
    return found


def _pieces(source: str) -> Iterator[str]:
    """Between semicolons, but for those in brackets and quotes, as in a picture's data."""
    begin, closing = 0, list[str]()
    for match in _MARK.finditer(source):
        sign = match[0]
        if sign == ";" and not closing:
            yield source[begin : match.start()]
            begin = match.end()
        elif sign in _CLOSED:
            closing.append(_CLOSED[sign])
        elif closing and sign == closing[-1]:
            closing.pop()
    yield source[begin:]


_CLOSED: Final = {"(": ")", "[": "]", "{": "}"}


def _plain(written: str) -> str:
    """In lower case, letters that are written as numbers read."""
    if "\\" in written:
        written = _ESCAPED.sub(_letter, written)
    return written.strip().lower()


def _letter(match: re.Match[str]) -> str:
    number = int(match[1], 16) if match[1] else 0
    letter = match[2] or (chr(number) if number < 0x110000 else "")
    # Any other sign is a part of the name here, and none of the language.
    return letter if letter.isalnum() or letter in {"-", "_"} else match[0]


def _long(name: str, value: str) -> Iterator[tuple[str, str]]:
    """Its longhands, as far as they matter."""
    shared = value if value in WIDE else ""
    if name == "font":
        yield "font-size", shared or font_size(words(value)) or "medium"
    elif name == "margin":
        sides = words(value)
        yield "margin-top", sides[0]
        # The same on both sides makes it wider, for a ground from edge to edge.
        yield "margin-left", sides[3] if len(sides) > 3 else shared or "auto"
    elif name == "mask":
        yield from (("mask-image", value), ("mask-size", shared or "auto"))
    elif name == "overflow":
        yield "overflow-y", words(value)[-1]
    elif name == "background":
        said = words(value)
        # Behind a picture a colour says nothing.
        picture = shared or any(is_a(each, "i") for each in said)
        colours = [value] if picture else [each for each in said if is_a(each, "c")]
        yield from (("background-color", (colours or ["none"])[0]), ("background-image", "none"))
        yield "background-clip", "text" if "text" in said else shared or "border-box"
    else:
        yield name, value
