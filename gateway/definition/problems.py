"""What is wrong with an agent directory: collected, so that all of it is said at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field

from typing_extensions import override

from gateway.engine.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: where, what, and the exact next step. ``line`` counts from 1."""

    file: str
    line: int | None
    message: str
    fix: str = ""

    @override
    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.message}" + (f". fix: {self.fix}" if self.fix else "")


class DefinitionError(ConfigError):
    """The directory can't be used as it is; ``problems`` lists everything wrong with it, by file,
    and ``warnings`` what is merely doubtful."""

    code = "definition"
    fault = "author"

    def __init__(self, problems: tuple[Problem, ...], warnings: tuple[Problem, ...] = ()) -> None:
        count = "1 mistake" if len(problems) == 1 else f"{len(problems)} mistakes"
        lines = "".join(f"\n  {problem}" for problem in problems)
        super().__init__(f"{count} in the agent directory:{lines}", fix="gateway check")
        self.problems = problems
        self.warnings = warnings


@dataclass(slots=True)
class Findings:
    """Mistakes and warnings as they turn up."""

    errors: list[Problem] = field(default_factory=list[Problem])
    warnings: list[Problem] = field(default_factory=list[Problem])

    def error(self, file: str, line: int | None, message: str, fix: str = "") -> None:
        _add(self.errors, Problem(file, line, message, fix))

    def warn(self, file: str, line: int | None, message: str, fix: str = "") -> None:
        _add(self.warnings, Problem(file, line, message, fix))


def _add(problems: list[Problem], problem: Problem) -> None:
    # A broken helper is met once for every file that imports it, but it is one mistake.
    if problem not in problems:
        problems.append(problem)


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda p: (p.file, p.line or 0, p.message)))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`` (did you mean "x"?)``, or nothing when no known name is near."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.7)
    return f' (did you mean "{near[0]}"?)' if near else ""
