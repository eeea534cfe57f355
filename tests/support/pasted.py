"""A document's blocks in one shell, as a reader would paste them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from gateway.config import foreign_environ
from tests.support.blocks import Block, blocks

ROOT = Path(__file__).parents[2]
PATIENCE = 240
PROMPT = re.compile(r"(?:you {4}|approve\? \[.*\] {2})(.*)")
"""What a terminal asks with; a pipe is asked without words."""


@dataclass(frozen=True)
class Step:
    """A block of commands, what is typed while they run, what they must print, in this order."""

    code: str
    typed: tuple[str, ...]
    shown: tuple[str, ...]


def steps(document: str) -> Iterator[Step]:
    found = blocks(document)
    for block, following in zip(found, [*found[1:], None], strict=True):
        match block.language:
            case "python":
                yield Step(_file(block), (), ())
            case "sh":
                told = following.code if following and following.language == "text" else ""
                typed = [m[1] for line in told.splitlines() if (m := PROMPT.fullmatch(line))]
                shown = [line for line in told.splitlines() if not PROMPT.fullmatch(line)]
                yield Step(block.code, tuple(typed), tuple(shown))
            case "text":
                pass
            case other:
                pytest.fail(f"{document} has a block in {other!r}, which nothing runs")


def _file(block: Block) -> str:
    """A Python block is a file, and says which in its first line."""
    name = re.match(r"# (\S+\.py)\n", block.code)
    assert name, f"a Python block must begin with the name of its file:\n{block.code}"
    return f"cat > {name[1]} <<'END_OF_FILE'\n{block.code}END_OF_FILE\n"


def _script(found: list[Step]) -> str:
    """One shell for all of it, each step's output in a file of its own."""
    parts = ["set -eu"]
    for number, step in enumerate(found):
        typed = "\n".join([*step.typed, ""])
        parts.append(
            f"{{\n{step.code}}} > \"$OUT/{number}\" 2>&1 <<'END_OF_INPUT'\n{typed}END_OF_INPUT"
        )
    return "\n".join(parts) + "\n"


def _missing(step: Step, printed: str) -> str | None:
    """The first line that wasn't printed behind the ones before it. ``…`` stands for anything;
    a line of the document may be a part of what was printed."""
    lines = iter(printed.splitlines())
    for line in step.shown:
        pattern = r"\s+".join(re.escape(word) for word in line.split()).replace("…", ".*")
        if not any(re.search(pattern, seen) for seen in lines):
            return line
    return None


def _commands(folder: Path) -> Path:
    """`gateway`, `pytest` and `python` as this checkout and this interpreter have them."""
    python = shlex.quote(sys.executable)
    folder.mkdir()
    for name, call in (
        ("python", ""),
        ("gateway", "-m gateway"),
        ("pytest", "-m pytest -p no:cacheprovider"),
    ):
        (folder / name).write_text(f'#!/bin/sh\nexec {python} {call} "$@"\n')
        (folder / name).chmod(0o755)
    return folder


def do(document: str, folder: Path, **extra: str) -> None:
    """Do all that the document says, and compare what it says is printed."""
    found = list(steps(document))
    out = folder / "out"
    out.mkdir()
    code = run(_script(found), folder, OUT=str(out), **extra)
    reports = sorted(out.iterdir(), key=lambda path: int(path.name))
    last = reports[-1].read_text()
    assert code == 0, f"{found[len(reports) - 1].code}\n{last}"
    for step, report in zip(found, reports, strict=True):
        printed = report.read_text()
        line = _missing(step, printed)
        assert line is None, f"{step.code}\ndidn't print {line!r}, but:\n{printed}"


def run(code: str, folder: Path, **extra: str) -> int:
    """Run it in a shell; whatever it leaves in the background ends with it."""
    env = foreign_environ()
    path = f"{_commands(folder / 'bin')}:{env.get('PATH', os.defpath)}"
    shell = subprocess.Popen(
        [shutil.which("bash") or "/bin/bash", "-c", code],
        cwd=folder,
        env={**env, "PATH": path, "PYTHONPATH": str(ROOT), **extra},
        start_new_session=True,
        stdin=subprocess.DEVNULL,
    )
    try:
        return shell.wait(PATIENCE)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
