"""Text without what no reader shows and some machine obeys: controls, and marks that turn letters around."""

from __future__ import annotations

_CONTROLS = [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029]
_TURNING = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]
"""Embeddings, overrides and isolates (Unicode Standard Annex 9). The marks that only give a direction stay:
they are part of how some languages are written, and hide nothing."""
_LINES = str.maketrans(dict.fromkeys(_CONTROLS, " ") | dict.fromkeys(_TURNING, ""))
_BLOCKS = str.maketrans(
    dict.fromkeys((c for c in _CONTROLS if c not in (0x09, 0x0A)), "")
    | {0x2028: "\n", 0x2029: "\n"}
    | dict.fromkeys(_TURNING, "")
)


def one_line(text: str) -> str:
    return " ".join(_whole(text.translate(_LINES)).split())


def block(text: str) -> str:
    """Lines, each ended by one line feed where it ended."""
    return _whole(text.replace("\r\n", "\n").replace("\r", "\n").translate(_BLOCKS))


def is_line(text: str) -> bool:
    """Whether it is one line and holds nothing of the kind."""
    return text == _whole(text.translate(_LINES))


def _whole(text: str) -> str:
    """Half a surrogate pair can't be written in UTF-8."""
    return text if text.isascii() else text.encode(errors="replace").decode()
