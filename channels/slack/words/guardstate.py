"""What the guard keeps between two pieces of a text, and the part of it that looks at one character
at a time: direction."""

from __future__ import annotations

import re

from gateway.engine.struct import struct

JOINER = "\u2060"
"""WORD JOINER: no width, no break, no letter. Put into a token it leaves nothing but its look."""

PDI = "\u2069"
DEEPEST = 125  # levels that the bidirectional algorithm knows

# Embeddings and overrides go; isolates stay while they are closed; whatever ends a paragraph ends them.
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069\n\r\x1c-\x1e\x85\u2029]")
_ISOLATES = frozenset("\u2066\u2067\u2068")
_STRIPPED = frozenset("\u202a\u202b\u202c\u202d\u202e")


@struct(frozen=True, slots=True)
class Mark:
    """What is to become of the ``](…)`` whose bracket stands at ``at``: it stays (``None``), or
    ``text`` takes the place of all up to ``end``. Positions count characters from the start."""

    at: int
    end: int = 0
    text: str | None = None


@struct(frozen=True, slots=True)
class Guard:
    """Where the guard stands. ``held`` isn't decided yet; ``tail`` is the end of what was let out;
    ``line`` the start of the line it is in; ``fence`` and ``span`` say how code was opened."""

    held: str = ""
    tail: str = ""
    line: str = ""
    fence: str = ""
    span: int = 0
    isolates: int = 0
    base: int = 0
    marks: tuple[Mark, ...] = ()


def straighten(text: str, depth: int = 0, *, last: bool = True) -> tuple[str, int]:
    """The text without overrides, and with every isolate closed in its paragraph. ``depth`` counts
    those still open, before and after."""
    if text.isascii() and not depth:
        return text, 0
    out: list[str] = []
    at = 0
    for found in _DIRECTION.finditer(text):
        out.append(text[at : found.start()])
        at, mark = found.end(), found[0]
        if mark in _STRIPPED:
            continue
        if mark in _ISOLATES:
            if depth < DEEPEST:
                depth += 1
                out.append(mark)
        elif mark == PDI:
            if depth:
                depth -= 1
                out.append(mark)
        else:
            out.append(PDI * depth + mark)
            depth = 0
    out.append(text[at:])
    if last:
        out.append(PDI * depth)
        depth = 0
    return "".join(out), depth
