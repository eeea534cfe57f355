"""The output layer: the one module that writes to stdout and stderr.

Tables and colour on a terminal only; elsewhere one plain line per row, fields separated by tabs.
With ``--json`` stdout carries JSON and nothing else. What others wrote is cleaned on its way out.
"""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from gateway.cli.problem import Problem
from gateway.cli.text import ASCII_MARKS, MARKS, Style
from gateway.engine.kinds import Json, JsonObject
from gateway.host.words.text import clean, distance, iso

if TYPE_CHECKING:
    from rich.console import Console

Part = str | tuple[str, Style]
"""A piece of a line: plain, or text with a style."""


def _open(stream: TextIO | None) -> TextIO:
    """Python has none where the caller closed it (``>&-``): then nobody reads, and that is fine."""
    return Path(os.devnull).open("w", encoding="utf-8") if stream is None else stream


@dataclass
class Out:
    """Where a command speaks. Flags may be set anywhere on the command line."""

    json: bool = False
    quiet: bool = False
    color: bool = True
    debug: bool = False
    stdout: TextIO = field(default_factory=lambda: _open(sys.stdout))
    stderr: TextIO = field(default_factory=lambda: _open(sys.stderr))
    _consoles: dict[int, Console] = field(default_factory=dict["int", "Console"], repr=False)

    @property
    def terminal(self) -> bool:
        """Whether a person looks on: stdout is a terminal and no JSON was asked for."""
        return not self.json and self.stdout.isatty()

    @property
    def width(self) -> int:
        return self._console(self.stdout).width if self.terminal else 100

    def when(self, millis: int | None, now: int) -> str:
        """A moment: relative on a terminal, ISO 8601 in a pipe."""
        return distance(millis, now) if self.terminal else iso(millis)

    # -- lines ---------------------------------------------------------------------------------
    def say(self, *parts: Part) -> None:
        """One line of the result. Silent with ``--json``: the data speaks there."""
        if not self.json:
            self._line(self.stdout, parts)

    def note(self, *parts: Part) -> None:
        """A remark beside the result, on stderr; ``--quiet`` and ``--json`` silence it."""
        if not (self.json or self.quiet):
            self._line(self.stderr, parts)

    def stream(self, text: str) -> None:
        """Text as it arrives, no newline added."""
        if not self.json:
            self._write(self.stdout, self._fit(self.stdout, clean(text)))
            self.stdout.flush()

    def block(
        self, label: Part, text: str, style: Style = "", *, wide: int = 0, aside: bool = False
    ) -> None:
        """Text beside a label. On a terminal it is wrapped under itself, in a log it stays whole.
        ``aside``: it is a remark, not the result."""
        body = clean(text)
        lines = body.splitlines() or [""]
        stream = self.stderr if aside else self.stdout
        if stream.isatty():
            room = max(20, (wide or self._console(stream).width) - len(plain(label)))
            hang = "  " if body[:1] in MARKS else ""
            lines = [part for line in lines for part in _wrapped(line, room, hang)]
        for number, line in enumerate(lines):
            told = (label if number == 0 else " " * len(plain(label)), (line, style))
            self.note(*told) if aside else self.say(*told)

    def fields(self, rows: Iterable[tuple[str, Part]]) -> None:
        """Names and values, one pair a line, names in one column."""
        pairs = list(rows)
        wide = max((len(name) for name, _ in pairs), default=0)
        for name, shown in pairs:
            self.say((name.ljust(wide) + "  ", "dim"), shown)

    @contextmanager
    def status(self, text: str) -> Generator[None]:
        """Words that stand there while something takes its time; on a terminal only."""
        if not self.terminal:
            yield
            return
        with self._console(self.stdout).status(text, spinner="dots", spinner_style="dim"):
            yield

    # -- data ----------------------------------------------------------------------------------
    def data(self, item: Json) -> None:
        """The result as JSON: indented for a person, one line for a program."""
        indent = 2 if self.stdout.isatty() else None
        self._write(self.stdout, json.dumps(item, ensure_ascii=False, indent=indent) + "\n")

    def record(self, item: JsonObject) -> None:
        """One line of a JSON stream, at once."""
        self._write(self.stdout, json.dumps(item, ensure_ascii=False) + "\n")
        self.stdout.flush()

    def untouched(self, raw: bytes) -> None:
        """Somebody's bytes as they are, for a file or a pipe; a terminal gets them by ``block``."""
        self.stdout.flush()
        self.stdout.buffer.write(raw)
        self.stdout.buffer.flush()

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Part]]) -> None:
        if self.json:
            return
        if not self.terminal:
            for row in rows:
                line = "\t".join(map(_flat, row))
                self._write(self.stdout, self._fit(self.stdout, line) + "\n")
            return
        from rich.table import Table
        from rich.text import Text

        told = [place for place in range(len(columns)) if any(plain(row[place]) for row in rows)]
        columns, rows = [columns[p] for p in told], [[row[p] for p in told] for row in rows]
        made = [
            [Text(self._fit(self.stdout, _flat(cell)), style=style(cell)) for cell in row]
            for row in rows
        ]
        wide = [
            max(len(column), *(row[place].cell_len for row in made), 0)
            for place, column in enumerate(columns)
        ]
        if sum(wide) + 2 * (len(columns) - 1) > self.width:
            self._stacked(columns, rows)
            return
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for column in columns:
            table.add_column(column, no_wrap=True)
        for cells in made:
            table.add_row(*cells)
        self._console(self.stdout).print(table)

    def _stacked(self, columns: Sequence[str], rows: Sequence[Sequence[Part]]) -> None:
        """One below the other, where a terminal is too narrow for them to stand beside each other."""
        names = [column.capitalize() for column in columns[1:]]
        label = max(map(len, names), default=0)
        for place, (first, *others) in enumerate(rows):
            if place:
                self.say()
            self.say((_flat(first), style(first) or "bold"))
            for name, cell in zip(names, others, strict=True):
                if plain(cell):
                    self.block((f"  {name:<{label}}  ", "dim"), _flat(cell), style(cell))

    def problem(self, problem: Problem) -> None:
        if self.json:
            self._write(self.stderr, json.dumps(problem.as_json(), ensure_ascii=False) + "\n")
            return
        what = clean(problem.what).rstrip()
        stop = "" if what.endswith((".", "!", "?", ":")) else "."
        parts: list[Part] = [(f"error[{problem.code}]: ", "bold red"), f"{what}{stop}"]
        if problem.fix:
            # Below several lines it would read as the last one's.
            parts += [("\nfix: " if "\n" in what else " fix: ", "bold"), problem.fix]
        self._line(self.stderr, parts)

    # -- beneath -------------------------------------------------------------------------------
    def _line(self, stream: TextIO, parts: Sequence[Part]) -> None:
        if not stream.isatty():
            text = "".join(self._fit(stream, clean(plain(part))) for part in parts)
            self._write(stream, text.rstrip() + "\n")
            return
        from rich.text import Text

        line = Text()
        for part in parts:
            line.append(self._fit(stream, clean(plain(part))), style(part) or None)
        line.rstrip()
        # Soft: the terminal wraps, so that a command stays one line when it is copied.
        self._console(stream).print(line, soft_wrap=True)

    def _console(self, stream: TextIO) -> Console:
        from rich.console import Console

        found = self._consoles.get(id(stream))
        if found is None:
            found = Console(
                file=stream,
                no_color=None if self.color else True,
                highlight=False,
                markup=False,
                emoji=False,
            )
            self._consoles[id(stream)] = found
        return found

    def _fit(self, stream: TextIO, text: str) -> str:
        """Marks that the stream's encoding can't show become words it can."""
        if text.isascii() or (stream.encoding or "").lower().replace("-", "") == "utf8":
            return text
        return "".join(ASCII_MARKS.get(character, character) for character in text)

    def _write(self, stream: TextIO, text: str) -> None:
        stream.write(text)


def _wrapped(line: str, room: int, hang: str) -> list[str]:
    return textwrap.wrap(line, room, subsequent_indent=hang, break_on_hyphens=False) or [""]


def _flat(part: Part) -> str:
    """On one line: a tab or a line feed inside a field would make two of it."""
    return " ".join(clean(plain(part)).split())


def plain(part: Part) -> str:
    return part if isinstance(part, str) else part[0]


def style(part: Part) -> Style:
    return "" if isinstance(part, str) else part[1]


def prepare(*streams: TextIO) -> None:
    """Make the streams take any text: what they can't encode is escaped, never an error."""
    for stream in streams:
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def hang_up(stream: TextIO) -> None:
    """Point a broken stream at nothing, so that the interpreter's last flush stays quiet."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    finally:
        os.close(nowhere)
