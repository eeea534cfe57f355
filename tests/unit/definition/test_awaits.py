"""A request that nobody awaits asks nobody: ``gateway check`` names the line."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from gateway.definition import DefinitionError, load_agent
from tests.unit.definition.directories import write

HEAD = '''\
import asyncio
from gateway import ToolContext, tool


@tool
async def ask(ctx: ToolContext) -> None:
    """Ask."""
'''
LINE = HEAD.count("\n") + 1


def loaded(tmp_path: Path, body: str) -> None:
    text = HEAD + indent(body, "    ") + "\n"
    load_agent(write(tmp_path / "agent", {"tools/ask.py": text}), env={})


@pytest.mark.parametrize(
    "body",
    [
        "ctx.request_input(id='a', prompt='?')",
        "if ctx.request_input(id='a', prompt='?'):\n    pass",
        "if not ctx.request_input(id='a', prompt='?'):\n    return",
        "ok = ctx.request_input(id='a', prompt='?')\nif ok:\n    pass",
        "if (ok := ctx.request_input(id='a', prompt='?')) is not None:\n    pass",
    ],
)
def test_a_forgotten_await_is_an_error(tmp_path: Path, body: str) -> None:
    with pytest.raises(DefinitionError) as refusal:
        loaded(tmp_path, body)
    (problem,) = map(str, refusal.value.problems)
    assert f"tools/ask.py:{LINE}: request_input is called and never awaited" in problem
    assert "write await ctx.request_input(…)" in problem


@pytest.mark.parametrize(
    "body",
    [
        "ok = ctx.request_input(id='a', prompt='?')\nif await ok:\n    pass",
        "await asyncio.wait_for(ctx.request_input(id='a', prompt='?'), 5)",
        "later = ctx.request_input(id='a', prompt='?')\nawait asyncio.gather(later)",
    ],
)
def test_one_that_is_awaited_later_is_fine(tmp_path: Path, body: str) -> None:
    loaded(tmp_path, body)
