"""One tool a file: the file's name is the tool's name."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import CodeType, ModuleType

from gateway.definition.modules import Package
from gateway.definition.problems import Findings
from gateway.definition.skills import TOOL as READ_SKILL
from gateway.definition.source import entries, is_private
from gateway.engine.tool import TOOL_NAME, Tool
from gateway.schedules.quiet import NAME as NOTHING_TO_REPORT

_WAITING = frozenset(
    {
        "time.sleep",
        "urllib.request.urlopen",
        "subprocess.run",
        "subprocess.call",
        "subprocess.check_call",
        "subprocess.check_output",
        "os.system",
    }
)
"""Calls that hold their thread until something comes. So does everything of ``requests``."""


def check_waits(tree: ast.Module, place: str, findings: Findings) -> None:
    """Warn of calls that hold the one thread on which every turn of the process runs. Read off the
    text, so what hides behind another function isn't seen."""
    known = _imported(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.AsyncFunctionDef):
            continue
        for call in _calls(node):
            spelled = _spelled(call.func)
            first, dot, rest = spelled.partition(".")
            name = known.get(first, "") + dot + rest
            if name in _WAITING or name.startswith("requests."):
                findings.warn(
                    place,
                    call.lineno,
                    f"calls {name} in async def {node.name}, which stops every turn meanwhile",
                    "await something that waits without holding the thread, such as asyncio.sleep,"
                    f" or await asyncio.to_thread({spelled}, …)",
                )


def _imported(tree: ast.Module) -> dict[str, str]:
    """Names in this file and what they stand for: ``{"sleep": "time.sleep"}``."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=found):
                for one in found:
                    first = one.name.partition(".")[0]
                    names |= {one.asname: one.name} if one.asname else {first: first}
            case ast.ImportFrom(module=str(module), names=found, level=0):
                names |= {one.asname or one.name: f"{module}.{one.name}" for one in found}
            case _:
                pass
    return names


def _spelled(called: ast.expr) -> str:
    """What is called, as it is written, without the arguments of calls on the way to it; empty where
    that begins with no name."""
    parts: list[str] = []
    arguments = ""
    while True:
        match called:
            case ast.Attribute(value=value, attr=name):
                parts.append(name + arguments)
                called, arguments = value, ""
            case ast.Call(func=function):
                called, arguments = function, f"(…){arguments}"
            case ast.Name(id=name):
                return ".".join([name + arguments, *reversed(parts)])
            case _:
                return ""


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """Calls that a function makes itself: a function inside it may run in another thread."""
    waiting = [node]
    while waiting:
        for child in ast.iter_child_nodes(waiting.pop()):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                continue
            if isinstance(child, ast.Call):
                yield child
            waiting.append(child)


def load_tools(package: Package, findings: Findings) -> dict[str, Tool]:
    tools: dict[str, Tool] = {}
    for path in entries(package.root / "tools"):
        place = package.show(path)
        if path.suffix != ".py" or not path.is_file():
            findings.warn(
                place,
                None,
                "is ignored: a tool is a .py file",
                "begin its name with _ if it isn't meant for the gateway",
            )
        elif not TOOL_NAME.fullmatch(path.stem):
            findings.error(
                place,
                None,
                f"can't name a tool: {path.stem!r}",
                "rename the file, using up to 64 ASCII letters, digits and underscores",
            )
        elif path.stem in (READ_SKILL, NOTHING_TO_REPORT):
            said = f"takes the name of the gateway's own {path.stem}"
            findings.error(place, None, said, "rename the file")
        else:
            tool = _load(path, package, findings)
            if tool is not None:
                tools[path.stem] = tool
    return tools


def _load(path: Path, package: Package, findings: Findings) -> Tool | None:
    place = package.show(path)
    module = package.run(f"tools/{path.name}", findings)
    if module is None:
        return None
    found = _own_tools(module, path)
    if not found:
        findings.error(
            place,
            None,
            "defines no tool",
            f"put @tool above def {path.stem}(…), or begin the file's name with _",
        )
        return None
    if len(found) > 1:
        findings.error(
            place,
            _line(found[1]),
            f"defines {len(found)} tools: {', '.join(tool.name for tool in found)}",
            "give each a file of its own",
        )
        return None
    tool = found[0]
    if tool.name != path.stem and _file(tool) == str(path):
        findings.error(
            place,
            _line(tool),
            f"holds the tool {tool.name}, but a tool is named like its file, {path.stem}",
            f"rename the function to {path.stem}, or the file to {tool.name}.py",
        )
        return None
    if not tool.description:
        findings.warn(
            place,
            _line(tool),
            "has no docstring, so the model knows the tool by its name only",
            "say in a docstring what it does and when to use it",
        )
    return replace(tool, name=path.stem)


def _own_tools(module: ModuleType, path: Path) -> list[Tool]:
    """Tools made in this file; one that is imported, to be called, belongs to its own file."""
    tools: list[Tool] = []
    for value in vars(module).values():
        if isinstance(value, Tool) and value not in tools:
            tools.append(value)
    own = [tool for tool in tools if _file(tool) == str(path)]
    # A tool built by a helper of a ``_``-file counts when the file has none of its own.
    return own or [tool for tool in tools if not _lives_beside(tool, path)]


def _lives_beside(tool: Tool, path: Path) -> bool:
    """Whether it is the tool of another file of the folder, and goes by that one's name."""
    made = Path(_file(tool) or "")
    return made.parent == path.parent and not is_private(made.name)


def _file(tool: Tool) -> str | None:
    code = _code(tool)
    return None if code is None else code.co_filename


def _line(tool: Tool) -> int | None:
    code = _code(tool)
    return None if code is None else code.co_firstlineno


def _code(tool: Tool) -> CodeType | None:
    """What the author wrote, whichever file's decorators are around it."""
    return getattr(inspect.unwrap(tool.run), "__code__", None)
