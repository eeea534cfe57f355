"""Text whose lines a reader may break where its window ends: ``format=flowed`` (RFC 3676)."""

from __future__ import annotations

from collections.abc import Iterator

WIDEST = 72
"""Characters of a line, with the space that says it goes on; 78 is the most that is advised (section 4.2)."""


def flowed(text: str) -> str:
    """Lines of at most some 72 characters, broken at spaces alone: unflowed they are the text again, but
    for spaces at the ends of its lines."""
    return "\n".join(piece for line in text.split("\n") for piece in _broken(line.rstrip(" ")))


def _broken(line: str) -> Iterator[str]:
    at = 0
    while len(line) - at > WIDEST:
        space = line.rfind(" ", at, at + WIDEST)
        if space < at:
            space = line.find(" ", at)
        while space >= 0 and line[space : space + 1] == " ":
            space += 1  # behind all spaces that stand there: none begins a line
        if space < 0:
            break
        yield _stuffed(line[at:space])
        at = space
    yield _stuffed(line[at:])


def _stuffed(line: str) -> str:
    """What would be read as a quotation, as stuffing or as the start of a mailbox's next mail begins with
    a space that readers take away (section 4.4)."""
    return f" {line}" if line.startswith((" ", ">", "From ")) else line
