"""How much of a mail is looked at. What goes beyond isn't read at all."""

from __future__ import annotations

from typing import Final

RAW: Final = 25 << 20
HEADER: Final = 256 << 10
FIELDS: Final = 1_000
FIELD: Final = 32 << 10
FROM: Final = 2 << 10
BOUNDARY_LINES: Final = 2_000
DASHED_LINES: Final = 200_000
"""Lines that begin as a boundary does. Each has to be looked at."""
DEPTH: Final = 50
TEXT: Final = 200_000
"""Bytes of text, in UTF-8."""
PARAMETERS: Final = 8 << 10
"""Of a field that says what a part is, its first bytes."""
IDS: Final = 100
"""Of those that a header field names, the last ones: a thread's list grows at its end."""
NAME: Final = 120
HIDDEN: Final = 20_000
"""Of what a person doesn't see, this much is kept."""

HTML: Final = 8 << 20
"""Without the files in it."""
TAGS: Final = 60_000
OPEN: Final = 5_000
"""HTML elements within one another."""


class OverLimitError(Exception):
    """The mail goes beyond a limit; which one, in words."""
