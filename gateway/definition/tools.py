"""One tool a file: the file's name is the tool's name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

from gateway.definition.modules import Package
from gateway.definition.problems import Findings
from gateway.definition.skills import TOOL as READ_SKILL
from gateway.definition.source import entries
from gateway.engine.tool import TOOL_NAME, Tool


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
        elif path.stem == READ_SKILL:
            findings.error(
                place, None, f"takes the name of the gateway's own {READ_SKILL}", "rename the file"
            )
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
    return own or tools


def _file(tool: Tool) -> str | None:
    code = getattr(tool.run, "__code__", None)
    return None if code is None else str(code.co_filename)


def _line(tool: Tool) -> int | None:
    code = getattr(tool.run, "__code__", None)
    return None if code is None else int(code.co_firstlineno)
