"""Finds code around ``request_input`` that reads as if it could stop a turn from parking.

It can't: a park is sticky. But the author who wrote ``except BaseException`` there expects control
that never comes, so each such shape is a warning. Read off the syntax tree; nothing is run. No walk
here recurses: code as deep as Python itself takes is looked at like any other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gateway.definition.problems import Findings

ASK = "request_input"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SWALLOWERS = {"BaseException", "CancelledError", "BaseExceptionGroup"}


def check_parks(tree: ast.Module, place: str, findings: Findings) -> None:
    """Add a warning for every risky shape, and an error where a plain ``def`` tool asks."""
    asking = _asking_functions(tree)
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _asks(node, asking):
            parents = _parents(node, above)
            for line, shape, fix in _shapes(node, parents):
                findings.warn(place, line, f"{shape} around {ASK}", fix)
            if _called(node) == ASK and not _refuse_sync(node, parents, place, findings):
                _refuse_forgotten(node, parents, place, findings)


def policies(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Each policy the file names as its answerers in so many words, with its line."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Dict):
            continue
        for key, value in zip(node.keys, node.values, strict=True):
            match key, value:
                case ast.Constant(value="policy"), ast.Constant(value=str(policy)):
                    yield policy, value.lineno
                case _:
                    pass


def texts(tree: ast.Module) -> set[str]:
    """Every text the file spells out."""
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def uses_services(tree: ast.Module) -> int | None:
    """The line on which the file first reads ``ctx.services``."""
    lines = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr == "services"
        and isinstance(node.value, ast.Name)
        and node.value.id == "ctx"
    ]
    return min(lines, default=None)


def _parents(node: ast.AST, above: Mapping[ast.AST, ast.AST]) -> list[ast.AST]:
    """All that it stands in, outermost first."""
    found: list[ast.AST] = []
    while (parent := above.get(node)) is not None:
        found.append(parent)
        node = parent
    return found[::-1]


def _called(call: ast.Call) -> str:
    return _last_name(call.func)


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def _asking_functions(tree: ast.Module) -> frozenset[str]:
    """Functions of this file that ask, themselves or through another of them."""
    bodies = {
        node.name: {_called(call) for call in ast.walk(node) if isinstance(call, ast.Call)}
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    asking = {ASK}
    while more := {name for name, calls in bodies.items() if calls & asking} - asking:
        asking |= more
    return frozenset(asking)


def _asks(call: ast.Call, asking: Iterable[str]) -> bool:
    return _called(call) in asking


def _shapes(call: ast.Call, parents: Sequence[ast.AST]) -> Iterator[tuple[int, str, str]]:
    """The risky shapes between a call and the function it stands in, innermost first."""
    inner: ast.AST = call
    for parent in reversed(parents):
        if isinstance(parent, _FUNCTIONS):
            return
        match parent:
            case ast.Try() | ast.TryStar():
                yield from _try_shapes(parent, inner)
            case ast.With() | ast.AsyncWith() if inner in parent.body:
                yield from _with_shapes(parent)
            case ast.Call() if _called(parent) == "gather" and _returns_exceptions(parent):
                yield (
                    parent.lineno,
                    "gather(return_exceptions=True)",
                    "await the request by itself, before or after the others",
                )
            case _:
                pass
        inner = parent


def _try_shapes(node: ast.Try | ast.TryStar, inner: ast.AST) -> Iterator[tuple[int, str, str]]:
    if inner in node.body:
        for handler in node.handlers:
            name = _swallows(handler)
            if name and not _raises(handler):
                yield handler.lineno, name, "catch Exception, which leaves a park alone"
    if inner not in node.finalbody:
        for leave in _leaving(node.finalbody):
            yield (
                leave.lineno,
                f"{type(leave).__name__.lower()} in a finally",
                "leave the function after the try statement instead",
            )


def _swallows(handler: ast.ExceptHandler) -> str | None:
    if handler.type is None:
        return "a bare except"
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    for kind in types:
        match kind:
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in _SWALLOWERS:
                return f"except {name}"
            case _:
                continue
    return None


def _raises(handler: ast.ExceptHandler) -> bool:
    return any(isinstance(node, ast.Raise) and node.exc is None for node in ast.walk(handler))


def _leaving(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a ``finally`` that drop the exception under way."""
    waiting = [(statement, False) for statement in body]
    while waiting:
        statement, looped = waiting.pop()
        if isinstance(statement, ast.Return) or (
            isinstance(statement, ast.Break | ast.Continue) and not looped
        ):
            yield statement
        elif isinstance(statement, ast.For | ast.AsyncFor | ast.While):
            # A break in there belongs to that loop.
            waiting += [(inner, True) for inner in statement.body]
            waiting += [(inner, looped) for inner in statement.orelse]
        elif not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            waiting += [(inner, looped) for inner in _statements(statement)]


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements directly inside a compound one, its handlers' and cases' included."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from _statements(child)


def _with_shapes(node: ast.With | ast.AsyncWith) -> Iterator[tuple[int, str, str]]:
    for item in node.items:
        call = item.context_expr
        if not isinstance(call, ast.Call):
            continue
        if _called(call) == "TaskGroup":
            yield node.lineno, "a TaskGroup", "ask before the group begins, or after it has ended"
        if _called(call) == "suppress" and any(
            _last_name(argument) in _SWALLOWERS for argument in call.args
        ):
            yield node.lineno, "suppress(BaseException)", "suppress Exception at most"


def _returns_exceptions(call: ast.Call) -> bool:
    return any(
        keyword.arg == "return_exceptions"
        and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)
        for keyword in call.keywords
    )


def _refuse_sync(
    call: ast.Call, parents: Sequence[ast.AST], place: str, findings: Findings
) -> bool:
    function = next((p for p in reversed(parents) if isinstance(p, _FUNCTIONS)), None)
    if not isinstance(function, ast.FunctionDef) or not any(map(_is_tool, function.decorator_list)):
        return False
    findings.error(
        place,
        call.lineno,
        f"{function.name}() is a plain def, which can't wait for a person",
        f"declare it async def {function.name}(…) and await the request",
    )
    return True


def _refuse_forgotten(
    call: ast.Call, parents: Sequence[ast.AST], place: str, findings: Findings
) -> None:
    """A request that stands by itself or is only kept in a name that is never awaited."""
    match parents[-1]:
        case ast.Await() | ast.Call() | ast.Return() | ast.keyword() | ast.Lambda():
            return
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.NamedExpr(target=ast.Name(id=name)):
            function = next((p for p in reversed(parents) if isinstance(p, _FUNCTIONS)), parents[0])
            if _handed_on(function, name):
                return
        case ast.List() | ast.Tuple():
            return
        case _:
            pass
    findings.error(
        place,
        call.lineno,
        f"{ASK} is called and never awaited, so nobody would be asked",
        f"write await ctx.{ASK}(…)",
    )


def _handed_on(function: ast.AST, name: str) -> bool:
    """Whether the name is awaited, or given to something that may await it."""
    return any(
        isinstance(node, ast.Await | ast.Call)
        and any(isinstance(n, ast.Name) and n.id == name for n in ast.iter_child_nodes(node))
        for node in ast.walk(function)
    )


def _is_tool(decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return _last_name(target).endswith("tool")
