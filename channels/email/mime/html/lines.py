"""Text laid out in lines: what is asked for takes effect with the next words, so that empty blocks leave
no trace."""

from __future__ import annotations

from typing import Final

from channels.email.mime.limits import TEXT, OverLimitError

_DEEPEST: Final = 20


class Lines:
    def __init__(self) -> None:
        self.done: list[str] = []
        self.current: list[str] = []
        self.quotes = 0
        self.lists = 0
        self.bullet = ""
        self.mark: int | None = None
        """The line at which a quotation begins."""
        self._marking = False
        self._breaks = 0
        self._space = False
        self._fresh = False
        self._cell = False
        self._length = 0
        self._ended = 0
        self._last = 0  # how deeply the line before is quoted

    # -- what is asked for -----------------------------------------------------------------------
    def block(self, breaks: int = 1) -> None:
        """Begin a new line, or a paragraph with two, unless a cell or an item has just begun."""
        if not self._fresh:
            self._breaks = max(self._breaks, breaks)

    def newline(self) -> None:
        self._fresh = False
        self._breaks = min(self._breaks + 1, 2)

    def item(self, bullet: str) -> None:
        self.block()
        self.bullet, self._fresh = bullet, True

    def cell(self, *, first: bool, row: int) -> None:
        """A cell goes on in its row's line while that has only one."""
        if not first and self._ended == row and self.current:
            self._breaks, self._cell = 0, True
        self._fresh = True

    def row(self) -> int:
        """Where a row begins that ``cell`` is told of."""
        self._fresh = False
        self.block()
        self._end_line()
        return self._ended

    def settle(self) -> None:
        """A cell or an item is over, also if there was nothing in it."""
        self._fresh = False

    def quote_here(self) -> None:
        if self.mark is None:
            self._fresh = False
            self.block()
            self._marking = True

    # -- what is written -------------------------------------------------------------------------
    def words(self, text: str) -> str:
        """Text in which any run of blanks is one space. What was written of it."""
        words = text.split()
        if not words:
            self._space = self._space or bool(text)
            return " " if text else ""
        self._space = self._space or text[0].isspace()
        written = " ".join(words)
        self.write(written)
        self._space = text[-1].isspace()
        return f" {written} "

    def verbatim(self, text: str) -> None:
        for number, line in enumerate(text.split("\n")):
            if number:
                self.newline()
            if line:
                self._space = False
                self.write(line)

    def write(self, text: str) -> None:
        self._flush()
        if self._cell and self.current:
            self.current.append(" | ")
        elif self._space and self.current:
            self.current.append(" ")
        self._cell = self._space = self._fresh = False
        if not self.current:
            self._begin()
        self.current.append(text)
        self._count(len(text))

    def rule(self) -> None:
        """A line between what stands above and below."""
        self.block()
        self.write("---")
        self.block()

    def attach(self, text: str) -> None:
        """Right behind what was written last."""
        if text and self.current:
            self.current.append(text)
            self._count(len(text))

    def finish(self) -> tuple[str, int | None]:
        """All of it, and where in it the quotation begins."""
        self._end_line()
        if self.mark is None or self.mark >= len(self.done):
            return "\n".join(self.done), None
        at = sum(len(line) + 1 for line in self.done[: self.mark])
        return "\n".join(self.done), at

    def _flush(self) -> None:
        if self._breaks:
            self._end_line()
            if self._breaks > 1 and self.done and self.done[-1].strip("> "):
                self.done.append(_quoted(min(self.quotes, self._last)).rstrip())
            self._breaks = 0
            self._space = False
        if self._marking:
            self.mark, self._marking = len(self.done), False

    def _end_line(self) -> None:
        if self.current:
            self.done.append("".join(self.current).rstrip())
            self.current = []
            self._ended += 1
            self._count(1)

    def _begin(self) -> None:
        depth = min(self.lists, _DEEPEST)
        indent = "  " * max(depth - 1, 0)
        if self.lists:
            indent += self.bullet or "  "
        self.bullet = ""
        self._last = self.quotes
        self.current.append(_quoted(self.quotes) + indent)
        self._count(len(self.current[0]))

    def _count(self, more: int) -> None:
        self._length += more
        if self._length > TEXT:
            raise OverLimitError(f"more than {TEXT} bytes of text")


def _quoted(depth: int) -> str:
    return "> " * min(depth, _DEEPEST)
