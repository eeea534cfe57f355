"""The repository as the meta tests see it: the files that git knows or would add, parsed on demand."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("gateway", "channels", "agent")


@cache
def files() -> tuple[str, ...]:
    """Every file of the project, relative to its root: tracked, or new and not ignored."""
    # The clone may belong to another user than the one who tests it.
    git = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    listing = subprocess.run(
        [*git, "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    names = listing.stdout.split("\0")
    return tuple(sorted({name for name in names if name and (ROOT / name).is_file()}))


def python_files(*folders: str) -> tuple[str, ...]:
    """The Python files below the given folders, or all of them."""
    inside = tuple(f"{folder}/" for folder in folders) or ("",)
    return tuple(name for name in files() if name.endswith(".py") and name.startswith(inside))


def text(name: str) -> str:
    """A file's text; a missing file is a failure that names it."""
    path = ROOT / name
    if not path.is_file():
        pytest.fail(f"{name} is missing: the rules of tests/meta read it.", pytrace=False)
    return path.read_text(encoding="utf-8")


def syntax(name: str) -> ast.Module:
    """The syntax tree of a Python file."""
    return ast.parse(text(name), filename=name)


def verdict(
    rule: str, fix: str, offences: Mapping[str, str], exceptions: Collection[str] = ()
) -> None:
    """Fail with the rule, its reason and the fix. ``exceptions`` may only shrink: one that no longer
    offends has to go."""
    new = [f"  {key}: {what}" for key, what in sorted(offences.items()) if key not in exceptions]
    stale = [f"  {key}" for key in sorted(exceptions) if key not in offences]
    parts: list[str] = []
    if new:
        parts += [rule, *new, f"Fix: {fix}"]
    if stale:
        parts += ["No longer an exception, delete it from the list (it may only shrink):", *stale]
    if parts:
        pytest.fail("\n".join(parts), pytrace=False)
