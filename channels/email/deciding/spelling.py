r"""What a call would run with, exactly, for the letter and for the page. Pure.

Arguments are shown as JSON. A character that can't be seen, or that turns others around, is spelled as JSON
spells it (``\u202e``), so that the text says what it holds, and read back it is the same value.
"""

from __future__ import annotations

import json
import unicodedata
from datetime import UTC, datetime

from gateway.engine.kinds import Json, Millis

__all__ = ["exact", "moment"]

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_LATEST = 253_402_300_799_000  # the last second of the year 9999


def exact(value: Json) -> str:
    """A value as JSON in which every character can be seen."""
    written = json.dumps(value, indent=2, ensure_ascii=False)
    if written.isascii():
        return written.replace("\x7f", "\\u007f")  # the one control that JSON leaves as it is
    return "".join(c if c == "\n" or _seen(c) else json.dumps(c)[1:-1] for c in written)


def _seen(letter: str) -> bool:
    return letter == " " or not (letter.isspace() or unicodedata.category(letter) in _UNSEEN)


def moment(at: Millis) -> str:
    seconds = max(0, min(at, _LATEST)) / 1000
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
