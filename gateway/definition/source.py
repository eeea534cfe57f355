"""Reading an author's files: text with one spelling, code with its lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from gateway.definition.problems import Findings


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
    """The syntax tree; ``None`` for what can't be parsed, which importing reports."""
    try:
        return ast.parse(path.read_bytes(), filename=str(path))
    except (SyntaxError, ValueError, OSError):
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
