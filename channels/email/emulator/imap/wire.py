"""Commands as they come over the line: words, strings, literals, lists."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypeAlias

from gateway.engine.struct import struct

Token: TypeAlias = "bytes | list[Token]"  # noqa: S105 - of a grammar
"""A word or a string, or what stands in parentheses."""

LONGEST_LINE = 64 << 10
LARGEST_LITERAL = 40 << 20
WORD_ENDS = b" ()"


class BadCommandError(Exception):
    """The client said what nobody understands."""


class NoError(Exception):
    """It was understood and isn't done."""


@struct(frozen=True, slots=True)
class Command:
    tag: str
    name: str
    arguments: list[Token]


class Wire:
    """One end of a line. ``command`` asks for literals by itself."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def put(self, *data: bytes) -> None:
        """Say something, now; ``flush`` waits until it has left."""
        if not self._writer.is_closing():
            self._writer.writelines(data)

    def say(self, text: str) -> None:
        self.put(text.encode("utf-8", "replace"), b"\r\n")

    async def flush(self) -> None:
        await self._writer.drain()

    def cut(self) -> None:
        """The line is gone, without a word."""
        self._writer.transport.abort()

    def end(self) -> None:
        """The line ends when all was said."""
        self._writer.close()

    async def line(self) -> bytes:
        """One line without its end. ``EOFError`` where there will be none."""
        try:
            line = await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as end:
            raise EOFError from end
        except asyncio.LimitOverrunError as long:
            raise EOFError("a line without end") from long
        return line.rstrip(b"\r\n")

    async def command(self) -> Command:
        """The next command with all its literals."""
        line = await self.line()
        tag, _, rest = line.partition(b" ")
        name, _, rest = rest.partition(b" ")
        pieces: list[tuple[bytes, bytes | None]] = []
        while (literal := _literal(rest)) is not None:
            size, waits = literal
            if size > LARGEST_LITERAL:
                raise EOFError("a literal without end")
            if waits:
                self.say("+ go on")
                await self.flush()
            try:
                content = await self._reader.readexactly(size)
            except asyncio.IncompleteReadError as end:
                raise EOFError from end
            pieces.append((rest[: rest.rindex(b"{")], content))
            rest = await self.line()
        pieces.append((rest, None))
        return Command(
            tag.decode("ascii", "replace"), name.decode("ascii", "replace").upper(), _tokens(pieces)
        )


def word(token: Token) -> str:
    if isinstance(token, list):
        raise BadCommandError("a list stands where a word should be")
    return token.decode("utf-8", "replace")


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _literal(line: bytes) -> tuple[int, bool] | None:
    """The size that a literal at the line's end announces, and whether the client waits for a word."""
    if not line.endswith(b"}") or b"{" not in line:
        return None
    size = line[line.rindex(b"{") + 1 : -1]
    waits = not size.endswith(b"+")
    digits = size.removesuffix(b"+")
    return (int(digits), waits) if digits.isdigit() and len(digits) < 12 else None


def _tokens(pieces: Sequence[tuple[bytes, bytes | None]]) -> list[Token]:
    top: list[Token] = []
    stack: list[list[Token]] = [top]
    for text, literal in pieces:
        at = 0
        while at < len(text):
            at = _one(text, at, stack)
        if literal is not None:
            stack[-1].append(literal)
    if len(stack) != 1:
        raise BadCommandError("a parenthesis is open")
    return top


def _one(text: bytes, at: int, stack: list[list[Token]]) -> int:
    """Take what begins there; where the next begins."""
    sign = text[at : at + 1]
    if sign == b" ":
        return at + 1
    if sign == b"(":
        inner: list[Token] = []
        stack[-1].append(inner)
        stack.append(inner)
        return at + 1
    if sign == b")":
        if len(stack) == 1:
            raise BadCommandError("a parenthesis closes nothing")
        stack.pop()
        return at + 1
    found, end = _string(text, at) if sign == b'"' else _atom(text, at)
    stack[-1].append(found)
    return end


def _string(text: bytes, at: int) -> tuple[bytes, int]:
    out = bytearray()
    at += 1
    while at < len(text) and text[at] != ord('"'):
        at += text[at] == ord("\\")
        out += text[at : at + 1]
        at += 1
    if at >= len(text):
        raise BadCommandError("a string is open")
    return bytes(out), at + 1


def _atom(text: bytes, at: int) -> tuple[bytes, int]:
    """A word. What stands in brackets belongs to it: ``BODY.PEEK[HEADER.FIELDS (From To)]``."""
    end, inside = at, False
    while end < len(text) and (inside or text[end] not in WORD_ENDS):
        inside = (inside or text[end] == ord("[")) and text[end] != ord("]")
        end += 1
    return text[at:end], end
