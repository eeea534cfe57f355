"""One pair of eyes for structured header fields: folds, comments, quoted strings (RFC 5322 §3.2).

Every step moves forward, so each reading is linear in the field's length. What isn't there as the
grammar wants it is ``Unreadable``; nothing is guessed.
"""

from __future__ import annotations

from typing import Final

__all__ = ["MAX_FIELD", "Scanner", "Unreadable", "unfolded"]

MAX_FIELD: Final = 32 * 1024
_BLANK: Final = frozenset(" \t")
_NEVER: Final = frozenset(map(chr, range(32))) - {"\t"} | {"\x7f"}


class Unreadable(Exception):
    """A field that doesn't follow its grammar."""


def unfolded(value: bytes) -> str:
    """The field in one line, a character for each byte. A line end that folds nothing, and any other
    control character, makes it unreadable: programs differ in where they see a new field then."""
    if len(value) > MAX_FIELD:
        raise Unreadable
    text = value.decode("latin-1").replace("\r\n", "\n").removesuffix("\n")
    first, *more = text.split("\n")
    if any(not line.startswith((" ", "\t")) for line in more):
        raise Unreadable
    line = first + "".join(more)
    if not _NEVER.isdisjoint(line):
        raise Unreadable
    return line


class Scanner:
    """Reads a line from the left."""

    __slots__ = ("at", "line")

    def __init__(self, line: str, at: int = 0) -> None:
        self.line = line
        self.at = at

    @property
    def next(self) -> str:
        """The character to be read; empty at the end."""
        return self.line[self.at : self.at + 1]

    def take(self, mark: str) -> bool:
        if not self.line.startswith(mark, self.at):
            return False
        self.at += len(mark)
        return True

    def blank(self) -> bool:
        """Pass white space; whether there was any."""
        start = self.at
        while self.next and self.next in _BLANK:
            self.at += 1
        return self.at > start

    def space(self) -> None:
        """Pass white space and comments, which nest. A quotation mark in a comment is unreadable: it comes
        from a quoted local part that somebody copied there, and such a part may close the comment."""
        depth = 0
        while char := self.next:
            if char == "(":
                depth += 1
            elif char == ")" and depth:
                depth -= 1
            elif depth and char == '"':
                raise Unreadable
            elif depth and char == "\\":
                self.at += 1
            elif not depth and char not in _BLANK:
                return
            self.at += 1
        if depth or self.at > len(self.line):
            raise Unreadable

    def quoted(self) -> str:
        """The content of the quoted string that begins here."""
        self.at += 1
        out: list[str] = []
        while (char := self.next) != '"':
            if char == "\\":
                self.at += 1
                char = self.next
            if not char:
                raise Unreadable
            out.append(char)
            self.at += 1
        self.at += 1
        return "".join(out)

    def run(self, stops: frozenset[str]) -> str:
        """All up to white space or one of ``stops``; may be empty."""
        start = self.at
        while (char := self.next) and char not in stops and char not in _BLANK:
            self.at += 1
        return self.line[start : self.at]
