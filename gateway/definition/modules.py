"""Runs an author's files under a package name of their own.

Each load gets a fresh name, so ``agent/channels`` never shadows ``channels``, two agents never
meet, and a changed directory can be loaded again. Nothing is put on ``sys.path``: a finder answers
for names that begin with the private prefix and for no other. It compiles from source each time,
because a cached file is told stale only by its size and its second.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

from typing_extensions import override

from gateway.definition.author import Agent, Schedule
from gateway.definition.problems import Findings, did_you_mean
from gateway.engine.agent import Surface
from gateway.engine.errors import ConfigError
from gateway.engine.tool import ToolDefinitionError, tool

PREFIX = "_agent_directory_"
_numbers = itertools.count(1)


class _Loader(SourceFileLoader):
    @override
    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


class _Finder(MetaPathFinder):
    @override
    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if not fullname.startswith(PREFIX) or path is None:
            return None
        tail = fullname.rpartition(".")[2]
        for folder in map(Path, path):
            for file in (folder / tail / "__init__.py", folder / f"{tail}.py"):
                if file.is_file():
                    inner = [str(file.parent)] if file.stem == "__init__" else None
                    return spec_from_file_location(
                        fullname,
                        file,
                        loader=_Loader(fullname, str(file)),
                        submodule_search_locations=inner,
                    )
            if (folder / tail).is_dir():
                spec = ModuleSpec(fullname, None, is_package=True)
                spec.submodule_search_locations = [str(folder / tail)]
                return spec
        return None


def _install() -> None:
    """Before Python's own finder, which would know these folders too, and keep compiled files there."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


_UNKNOWN = re.compile(
    r"(?P<taker>\w+)(?:\.__init__)?\(\) got an unexpected keyword.* '(?P<name>\w+)'"
)
_TAKERS: dict[str, Callable[..., object]] = {
    "Agent": Agent,
    "Schedule": Schedule,
    "Surface": Surface,
    "tool": tool,
}


def _options(taker: str, name: str, error: TypeError) -> str:
    """What one of ours, or whatever the author's file calls, takes by name, where it was given
    something else."""
    function = _TAKERS.get(taker) or _called(taker, error)
    if function is None:
        return ""
    found = inspect.signature(function).parameters.values()
    known = [one.name for one in found if one.kind is one.KEYWORD_ONLY]
    return f"{taker} takes {', '.join(known)}{did_you_mean(name, known)}" if known else ""


def _called(taker: str, error: TypeError) -> Callable[..., object] | None:
    """The function that the last frame was about to call, if it knows it by its own name."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    found: object = None if trace is None else trace.tb_frame.f_globals.get(taker)
    return found if inspect.isfunction(found) else None


@dataclass(frozen=True, slots=True)
class Package:
    """One load of one directory. ``shown`` is how its files are named to people."""

    name: str
    root: Path
    shown: str

    @classmethod
    def create(cls, root: Path, shown: str) -> Package:
        _install()
        name = f"{PREFIX}{next(_numbers)}"
        module = ModuleType(name, "An agent directory.")
        module.__path__ = [str(root)]
        sys.modules[name] = module
        return cls(name, root, shown)

    def discard(self) -> None:
        for name in [n for n in sys.modules if n == self.name or n.startswith(f"{self.name}.")]:
            del sys.modules[name]

    def show(self, path: Path | str) -> str:
        try:
            inside = Path(path).relative_to(self.root)
        except ValueError:
            return str(path)
        return f"{self.shown}/{inside.as_posix()}" if inside.parts else self.shown

    def run(self, relative: str, findings: Findings) -> ModuleType | None:
        """Import one file; what goes wrong becomes a finding that points into the author's code."""
        dotted = relative.removesuffix(".py").replace("/", ".")
        try:
            return importlib.import_module(f"{self.name}.{dotted}")
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a file that calls sys.exit() is a mistake too
            self.report(relative, error, findings)
            return None

    def report(
        self, relative: str, error: BaseException, findings: Findings, when: str = "on import"
    ) -> None:
        """What a file raised, as a finding at the author's own last line on the way to it."""
        if isinstance(error, ToolDefinitionError) and error.line:
            findings.error(self.show(error.file), error.line, error.reason, error.fix)
            return
        if isinstance(error, SyntaxError) and error.filename:
            findings.error(self.show(error.filename), error.lineno, f"can't be parsed: {error.msg}")
            return
        file, line = self._place(relative, error)
        if isinstance(error, ConfigError):
            findings.error(file, line, str(error).removeprefix("?:0: "), error.fix)
            return
        message = traceback.format_exception_only(error)[-1].strip().replace(f"{self.name}.", "")
        fix = ""
        if isinstance(error, ModuleNotFoundError) and error.name:
            fix = self._missing_module(error.name)
        elif isinstance(error, TypeError) and (unknown := _UNKNOWN.search(message)):
            fix = _options(unknown["taker"], unknown["name"], error)
        findings.error(file, line, f"fails {when}: {message}", fix)

    def _place(self, relative: str, error: BaseException) -> tuple[str, int | None]:
        """The last line of the author's own code on the way to the error."""
        inside = f"{self.root}/"
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            if frame.filename.startswith(inside):
                return self.show(frame.filename), frame.lineno
        return self.show(self.root / relative), None

    def _missing_module(self, name: str) -> str:
        if name.startswith(self.name):
            inside = name.removeprefix(self.name).lstrip(".").replace(".", "/")
            return f"create {self.shown}/{inside}.py, or correct the relative import"
        if (self.root / f"{name.partition('.')[0]}.py").is_file():
            return f"import it relatively: from . import {name}"
        if (top := name.partition(".")[0]) in sys.modules:
            return f"correct the import: {top} is installed, and has no such module"
        return f"install {top} into this environment, or remove the import"
