"""The head of a Markdown file: ``key: value`` lines in YAML between two ``---`` lines.

Every value is read as text, so that ``no``, ``1:30`` and ``2026-01-01`` mean what they say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from gateway.definition.problems import Findings, did_you_mean

if TYPE_CHECKING:
    from yaml import MappingNode

FENCE = "---"


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """``values`` are single texts; ``lines`` tells where each key stands in the file. A key with a
    list or a mapping is in ``nested`` only."""

    values: dict[str, str] = field(default_factory=dict[str, str])
    lines: dict[str, int] = field(default_factory=dict[str, int])
    nested: frozenset[str] = frozenset()
    body: str = ""


def split(text: str, shown: str, findings: Findings) -> FrontMatter | None:
    """``None`` when there is no head or it can't be read; the findings say why."""
    lines = text.split("\n")
    if lines[0].rstrip() != FENCE:
        findings.error(
            shown, 1, "doesn't begin with front matter", f"open the file with a {FENCE} line"
        )
        return None
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == FENCE), None)
    if end is None:
        findings.error(shown, 1, "has front matter without an end", f"close it with a {FENCE} line")
        return None
    head = _read("\n".join(lines[1:end]), shown, findings)
    if head is None:
        return None
    return FrontMatter(head.values, head.lines, head.nested, "\n".join(lines[end + 1 :]).strip())


def _read(text: str, shown: str, findings: Findings) -> FrontMatter | None:
    import yaml

    try:
        root = cast("object", yaml.compose(text, Loader=yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        line = (error.problem_mark.line if error.problem_mark else 0) + 2
        fix = "indent with spaces and quote texts that hold : or #"
        if error.context == "while scanning an alias":
            fix = 'a value that begins with * needs quotes: cron: "*/5 * * * *"'
        findings.error(shown, line, f"has front matter that isn't YAML: {error.problem}", fix)
        return None
    except yaml.YAMLError as error:
        findings.error(shown, 2, f"has front matter that isn't YAML: {error}")
        return None
    if root is None:
        return FrontMatter()
    if not isinstance(root, yaml.MappingNode):
        findings.error(shown, 2, "has front matter that isn't a list of key: value lines")
        return None
    return _collect(_pairs(root), shown, findings)


def _pairs(root: MappingNode) -> Iterator[tuple[str, int, str | None]]:
    import yaml

    for key, value in cast("list[tuple[yaml.Node, yaml.Node]]", root.value):
        text: str | None = None
        if isinstance(value, yaml.ScalarNode):
            text = str(value.value)
        yield str(cast("object", key.value)), key.start_mark.line + 2, text


def _collect(
    pairs: Iterable[tuple[str, int, str | None]], shown: str, findings: Findings
) -> FrontMatter:
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    nested: set[str] = set()
    for key, line, text in pairs:
        if key in lines:
            findings.error(shown, line, f"gives {key} twice", "keep one of the two lines")
        lines[key] = line
        if text is None:
            nested.add(key)
        else:
            values[key] = text.strip()
    return FrontMatter(values, lines, frozenset(nested))


def check_keys(head: FrontMatter, known: Iterable[str], shown: str, findings: Findings) -> None:
    """Refuse keys that mean nothing here: a misspelt one would be ignored in silence."""
    allowed = sorted(known)
    for key, line in head.lines.items():
        if key not in allowed:
            findings.error(
                shown,
                line,
                f"has the unknown key {key!r}{did_you_mean(key, allowed)}",
                f"use {', '.join(allowed)}",
            )
