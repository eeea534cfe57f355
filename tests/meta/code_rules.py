"""Rules about code that no linter here has, each a function from a syntax tree to what it found.

Names are followed through imports, so ``from os import environ as e`` is no way around them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

Found: TypeAlias = Iterator[tuple[str, str]]
"""Pairs of the place (``Class.method``, or ``module``) and what stands there."""

ENVIRONMENT = {"os.environ", "os.environb", "os.getenv", "os.getenvb", "os.putenv", "os.unsetenv"}
PRINTERS = {
    *("print", "pprint.pprint", "click.echo", "click.secho", "rich.print"),
    *("sys.stdout.write", "sys.stderr.write", "sys.stdout.buffer.write", "sys.stderr.buffer.write"),
}
AWAITS = (ast.AsyncFor, ast.AsyncWith, ast.Await)
CANCELLATIONS = {"CancelledError", "BaseException"}


def reads_environment(tree: ast.Module) -> Found:
    """Any mention of the process environment."""
    names = _imported(tree)
    for place, node in _walk(tree):
        if _name(node, names) in ENVIRONMENT:
            yield place, f"line {_line(node)} reads the environment"


def prints(tree: ast.Module) -> Found:
    """Calls that write to the terminal."""
    names = _imported(tree)
    for place, node in _walk(tree):
        if isinstance(node, ast.Call) and (name := _name(node.func, names)) in PRINTERS:
            yield place, f"line {node.lineno} calls {name}"


def asks_terminal(tree: ast.Module) -> Found:
    """A bare ``input()``."""
    for place, node in _walk(tree):
        if isinstance(node, ast.Call) and _name(node.func, {}) == "input":
            yield place, f"line {node.lineno} calls input()"


def imports_package(tree: ast.Module, package: str) -> Found:
    """Imports of a package or its parts, also lazy ones, for types only, or by string."""
    for place, node in _walk(tree):
        for module in _modules(node):
            if module.split(".")[0] == package:
                yield place, f"line {_line(node)} imports {module}"


def swallows_cancellation(tree: ast.Module) -> Found:
    """An awaited cancellation that ``except`` or ``suppress`` catches and never raises again.

    Where nothing is awaited no cancellation arrives, and the first handler that fits takes it.
    """
    names = _imported(tree)
    for place, node in _walk(tree):
        if isinstance(node, ast.Try | ast.TryStar) and _contains(node.body, *AWAITS):
            takers = (h for h in node.handlers if _catches_cancellation(h.type, names))
            taker = next(takers, None)
            if taker is not None and not _contains(taker.body, ast.Raise):
                yield place, f"line {taker.lineno} catches a cancellation and doesn't raise"
        elif isinstance(node, ast.With) and _contains(node.body, *AWAITS):
            for item in node.items:
                if _suppresses_cancellation(item.context_expr, names):
                    yield place, f"line {node.lineno} suppresses a cancellation"


def _suppresses_cancellation(context: ast.expr, names: dict[str, str]) -> bool:
    return (
        isinstance(context, ast.Call)
        and _name(context.func, names) == "contextlib.suppress"
        and any(_catches_cancellation(argument, names) for argument in context.args)
    )


def _catches_cancellation(caught: ast.expr | None, names: dict[str, str]) -> bool:
    if caught is None:
        return True
    parts = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(_name(part, names).rsplit(".", 1)[-1] in CANCELLATIONS for part in parts)


def _contains(body: list[ast.stmt], *kinds: type[ast.AST]) -> bool:
    """Whether these statements do it themselves, not merely a function that they define."""
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, kinds):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            pending.extend(ast.iter_child_nodes(node))
    return False


def _modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module] if node.module and not node.level else []
    if isinstance(node, ast.Call) and _name(node.func, {}).endswith("import_module"):
        return [str(a.value) for a in node.args[:1] if isinstance(a, ast.Constant)]
    return []


@lru_cache(maxsize=1)
def _imported(tree: ast.Module) -> dict[str, str]:
    """What each imported name stands for: ``e`` for ``os.environ`` and the like."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update({a.asname: a.name for a in node.names if a.asname})
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update({a.asname or a.name: f"{node.module}.{a.name}" for a in node.names})
    return names


def _name(node: ast.AST, names: dict[str, str]) -> str:
    """The dotted name of an expression, or nothing if it isn't one."""
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        head = _name(node.value, names)
        return f"{head}.{node.attr}" if head else ""
    return ""


@lru_cache(maxsize=1)
def _walk(tree: ast.Module) -> list[tuple[str, ast.AST]]:
    """Every node with the function or class it stands in."""
    found: list[tuple[str, ast.AST]] = []
    pending: list[tuple[str, ast.AST]] = [("module", tree)]
    while pending:
        place, node = pending.pop()
        found.append((place, node))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            place = node.name if place == "module" else f"{place}.{node.name}"
        pending.extend((place, child) for child in ast.iter_child_nodes(node))
    return found


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))
