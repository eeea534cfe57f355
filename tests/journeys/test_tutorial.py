"""The tutorial, block by block in one shell, as a reader would paste it."""

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
TUTORIAL = "docs/tutorial.md"
PATIENCE = 150
PROMPT = re.compile(r"(?:you {4}|approve\? \[.*\] {2})(.*)")
"""What a terminal asks with; a pipe is asked without words."""

pytestmark = [pytest.mark.timeout(PATIENCE + 30), pytest.mark.crash]


@dataclass(frozen=True)
class Step:
    """A block of commands, what is typed while they run, what they must print, in this order."""

    code: str
    typed: tuple[str, ...]
    shown: tuple[str, ...]


def steps(found: list[Block]) -> Iterator[Step]:
    for block, following in zip(found, [*found[1:], None], strict=True):
        match block.language:
            case "python":
                yield Step(_file(block.code), (), ())
            case "sh":
                told = following.code if following and following.language == "text" else ""
                typed = [m[1] for line in told.splitlines() if (m := PROMPT.fullmatch(line))]
                shown = [line for line in told.splitlines() if not PROMPT.fullmatch(line)]
                yield Step(block.code, tuple(typed), tuple(shown))
            case "text":
                pass
            case other:
                pytest.fail(f"{TUTORIAL} has a block in {other!r}, which nothing runs")


def _file(code: str) -> str:
    """A Python block is a file, and says which in its first line."""
    name = re.match(r"# (\S+\.py)\n", code)
    assert name, f"a Python block must begin with the name of its file:\n{code}"
    return f"cat > {name[1]} <<'END_OF_FILE'\n{code}END_OF_FILE\n"


def script(found: list[Step]) -> str:
    """One shell for all of it, each step's output in a file of its own."""
    parts = ["set -eu"]
    for number, step in enumerate(found):
        typed = "\n".join([*step.typed, ""])
        parts.append(
            f"{{\n{step.code}}} > \"$OUT/{number}\" 2>&1 <<'END_OF_INPUT'\n{typed}END_OF_INPUT"
        )
    return "\n".join(parts) + "\n"


def missing(step: Step, printed: str) -> str | None:
    """The first line that wasn't printed behind the ones before it. ``…`` stands for anything;
    a line of the tutorial may be a part of what was printed."""
    lines = iter(printed.splitlines())
    for line in step.shown:
        pattern = r"\s+".join(re.escape(word) for word in line.split()).replace("…", ".*")
        if not any(re.search(pattern, seen) for seen in lines):
            return line
    return None


def commands(folder: Path) -> Path:
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


def test_every_block_does_what_the_tutorial_says(tmp_path: Path, unused_tcp_port: int) -> None:
    found = list(steps(blocks(TUTORIAL)))
    assert len(found) > 12
    out = tmp_path / "out"
    out.mkdir()
    env = foreign_environ()
    env |= {
        "PATH": f"{commands(tmp_path / 'bin')}:{env.get('PATH', os.defpath)}",
        "PYTHONPATH": str(ROOT),
        "OUT": str(out),
        "SUPPLIER_SECONDS": "1.5",
    }
    # The one thing that is changed: another test may have the port.
    told = script(found).replace("8787", str(unused_tcp_port))
    shell = subprocess.Popen(
        [shutil.which("bash") or "/bin/bash", "-c", told],
        cwd=tmp_path,
        env=env,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
    )
    try:
        code = shell.wait(PATIENCE)
    finally:
        _end_group(shell.pid)
    reports = sorted(out.iterdir(), key=lambda path: int(path.name))
    last = reports[-1].read_text()
    assert code == 0, f"{found[len(reports) - 1].code}\n{last}"
    for step, report in zip(found, reports, strict=True):
        printed = report.read_text()
        line = missing(step, printed)
        assert line is None, f"{step.code}\ndidn't print {line!r}, but:\n{printed}"


def _end_group(group: int) -> None:
    """The host that the tutorial left in the background, if it came to that."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
