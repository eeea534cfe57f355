"""Reading an author's files: text with one spelling, code with its lines, and what heads a Markdown
file: ``key: value`` lines in YAML between two ``---`` lines.

Every value of such a head is read as text, so that ``no``, ``1:30`` and ``2026-01-01`` mean what they say.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gateway.definition.problems import Findings, did_you_mean

if TYPE_CHECKING:
    from yaml import MappingNode


def read_text(path: Path, shown: str, findings: Findings) -> str | None:
    """The file's text, its byte-order mark dropped and its line ends unified: prompts are bound
    to their bytes, so an editor's habits must not change them."""
    try:
        data = path.read_bytes()
    except OSError as error:
        findings.error(shown, None, f"can't be read: {error.strerror or error}")
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        findings.error(shown, line, "is not UTF-8 text", "save it with the encoding UTF-8")
        return None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse(path: Path) -> ast.Module | None:
    """The syntax tree; ``None`` for what can't be parsed, which importing reports. It may be deeper than
    a function can call itself."""
    try:
        return ast.parse(path.read_bytes(), filename=str(path))
    except (SyntaxError, ValueError, OSError, RecursionError, MemoryError):
        return None


def is_private(name: str) -> bool:
    return name.startswith(("_", "."))


def entries(folder: Path) -> Iterator[Path]:
    """What a folder holds, in a stable order, without what begins with ``_`` or ``.``."""
    if folder.is_dir():
        yield from (path for path in sorted(folder.iterdir()) if not is_private(path.name))


def assignment_line(tree: ast.Module | None, name: str) -> int | None:
    """The line on which a module gives ``name`` its value."""
    for node in tree.body if tree else ():
        match node:
            case ast.Assign(targets=targets):
                names = [t.id for t in targets if isinstance(t, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=target)):
                names = [target]
            case ast.FunctionDef(name=target) | ast.AsyncFunctionDef(name=target):
                names = [target]
            case _:
                continue
        if name in names:
            return node.lineno
    return None


def call_of(tree: ast.Module | None, name: str) -> ast.Call | None:
    """The call whose result the module assigns to ``name``."""
    for node in tree.body if tree else ():
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(t, ast.Name) and t.id == name for t in targets):
                return node.value
    return None


def keyword_of(call: ast.Call | None, name: str) -> ast.expr | None:
    for keyword in call.keywords if call else ():
        if keyword.arg == name:
            return keyword.value
    return None


def text_line(node: ast.AST | None, text: str) -> int | None:
    """The line where a text literal stands inside ``node``."""
    for inner in ast.walk(node) if node else ():
        if isinstance(inner, ast.Constant) and inner.value == text:
            return inner.lineno
    return None


# -- the head of a Markdown file --------------------------------------------------------------------
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
