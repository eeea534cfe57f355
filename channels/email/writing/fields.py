"""Header fields as they are written, each folded by us: what must arrive byte for byte, such as an id, is
never encoded, however long it is."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence

from channels.email.writing.clean import one_line

MOST_LINE = 78
"""Characters of a line that should not be exceeded (RFC 5322, section 2.1.1)."""
MOST_LINE_EVER = 998
MOST_ID = 250
"""Characters of an id of theirs that is repeated."""
MOST_SUBJECT = 400

_WORD = 39
"""Octets of text in an encoded word: a line that holds one has at most 76 characters (RFC 2047, section 2)."""
_MOST_PLAIN, _MOST_QUOTED = 60, 200
_REPLIES = frozenset(
    {
        *("re", "aw", "antw", "sv", "vs", "odp", "rv", "ref", "ynt", "vá", "rif", "res", "r"),
        *("回复", "答复", "回覆", "返信", "הנ", "رد", "ατ", "отв", "на"),
    }
)
"""How mail programs begin the subject of an answer, by language."""


class LetterError(Exception):
    """A letter that must not be sent as it is. ``field`` names what is wrong with it; the value isn't
    repeated, as it may be anybody's."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(f"{field}: {why}")
        self.field = field
        self.why = why


# -- what goes in ------------------------------------------------------------------------------------
def answering(subject: str) -> str:
    """The subject of an answer to a mail with this one: ``Re:`` once, whatever stood before it."""
    rest = one_line(subject)
    while (found := _reply_mark(rest)) is not None:
        rest = rest[found:].lstrip()
    if len(rest) > MOST_SUBJECT:
        rest = rest[: MOST_SUBJECT - 1].rstrip() + "…"
    return f"Re: {rest}".rstrip()


def _reply_mark(subject: str) -> int | None:
    """Where a mark of an answer ends, ``Re:``, ``AW:``, ``Re[2]:`` and their like."""
    for colon in ":：":
        mark, found, _ = subject[:16].partition(colon)
        word = mark.rstrip().casefold()
        if word.endswith("]"):
            word, _, count = word[:-1].partition("[")
            if not count.isdecimal():
                continue
        if found and word.rstrip() in _REPLIES:
            return len(mark) + 1
    return None


def echoed(message_id: str) -> bool:
    """Whether an id of theirs can be repeated as it stands. One that holds an encoded word is told to no
    reader, since some decode where they shouldn't and write what comes out."""
    return (
        2 < len(message_id) <= MOST_ID
        and message_id[0] == "<"
        and message_id[-1] == ">"
        and all("!" <= c <= "~" and c not in "<>" for c in message_id[1:-1])
        and "=?" not in message_id
    )


# -- what comes out ----------------------------------------------------------------------------------
def field(name: str, units: Sequence[str], between: str = " ") -> bytes:
    """A field of units that are never broken. ``between`` ends with the space that a fold may take the
    place of."""
    glue = between.rstrip(" ")
    lines = [f"{name}:"]
    for n, unit in enumerate(units, 1):
        told = unit + (glue if n < len(units) else "")
        if n > 1 and len(lines[-1]) + 1 + len(told) > MOST_LINE:
            lines.append("")
        lines[-1] += f" {told}"
    return "\r\n".join(lines).encode("ascii") + b"\r\n"


def unstructured(text: str) -> list[str]:
    """The units of a subject: words as they are, or encoded ones where anything in it needs that."""
    words = text.split(" ")
    plain = text.isascii() and text.isprintable() and "=?" not in text
    if plain and all(0 < len(word) <= _MOST_PLAIN for word in words):
        return words
    return encoded_words(text) if text else []


def encoded_words(text: str) -> list[str]:
    """Encoded words (RFC 2047), which a reader joins without the space between them. No letter is cut."""
    pieces: list[bytes] = []
    piece = b""
    for letter in text:
        told = letter.encode()
        if len(piece) + len(told) > _WORD:
            pieces.append(piece)
            piece = b""
        piece += told
    pieces.append(piece)
    return [f"=?utf-8?B?{base64.b64encode(piece).decode()}?=" for piece in pieces]


def mailbox(address: str, name: str) -> list[str]:
    """An address with the name beside it, the name quoted or encoded."""
    if not name:
        return [address]
    if name.isascii() and "=?" not in name and len(name) <= _MOST_QUOTED:
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        return [f'"{escaped}"', f"<{address}>"]
    return [*encoded_words(name), f"<{address}>"]


def parameters(value: str, given: Iterable[tuple[str, str]]) -> list[str]:
    """A value with its parameters. One beyond ASCII, or long, is written in the extended way, in pieces
    (RFC 2231, sections 3 and 4)."""
    units = [value]
    for name, text in given:
        if text.isascii() and len(text) <= _MOST_PLAIN:
            escaped = text.replace("\\", "\\\\").replace('"', '\\"')
            units.append(f'{name}="{escaped}"')
        else:
            units += _extended(name, text)
    return units


def _extended(name: str, text: str) -> list[str]:
    octets = ["".join(_octet(byte) for byte in letter.encode()) for letter in text]
    pieces = [""]
    for octet in octets:
        if len(pieces[-1]) + len(octet) > _WORD:
            pieces.append("")
        pieces[-1] += octet
    pieces[0] = f"utf-8''{pieces[0]}"
    if len(pieces) == 1:
        return [f"{name}*={pieces[0]}"]
    return [f"{name}*{n}*={piece}" for n, piece in enumerate(pieces)]


def _octet(byte: int) -> str:
    letter = chr(byte)
    return letter if letter.isascii() and (letter.isalnum() or letter in "._-") else f"%{byte:02X}"
