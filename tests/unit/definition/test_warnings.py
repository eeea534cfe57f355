"""What an agent may do but shouldn't: told, without stopping anything."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from gateway.definition import load_agent
from tests.unit.definition.directories import agent_py, write

HEAD = """\
import asyncio
import contextlib
from gateway import ToolContext, tool

"""
TOOL = (
    HEAD
    + '''\
@tool
async def ask(ctx: ToolContext) -> None:
    """Ask."""
'''
)

SHAPES = [
    (
        "try:\n    await ctx.request_input(id='a', prompt='?')\nexcept:\n    pass",
        10,
        "a bare except",
    ),
    (
        "try:\n    await ctx.request_input(id='a', prompt='?')\nexcept BaseException:\n    pass",
        10,
        "except BaseException",
    ),
    (
        (
            "try:\n    await ctx.request_input(id='a', prompt='?')\n"
            "except (ValueError, asyncio.CancelledError):\n    return"
        ),
        10,
        "except CancelledError",
    ),
    (
        "try:\n    await ctx.request_input(id='a', prompt='?')\nfinally:\n    return",
        11,
        "return in a finally",
    ),
    (
        (
            "for _ in range(2):\n    try:\n        await ctx.request_input(id='a', prompt='?')\n"
            "    finally:\n        if ctx.attempt > 1:\n            continue"
        ),
        13,
        "continue in a finally",
    ),
    (
        (
            "try:\n    pass\nexcept ValueError:\n    await ctx.request_input(id='a', prompt='?')\n"
            "finally:\n    return"
        ),
        13,
        "return in a finally",
    ),
    (
        "await asyncio.gather(ctx.request_input(id='a', prompt='?'), return_exceptions=True)",
        8,
        "gather(return_exceptions=True)",
    ),
    (
        (
            "async with asyncio.TaskGroup() as group:\n"
            "    group.create_task(ctx.request_input(id='a', prompt='?'))"
        ),
        8,
        "a TaskGroup",
    ),
    (
        "with contextlib.suppress(BaseException):\n    await ctx.request_input(id='a', prompt='?')",
        8,
        "suppress(BaseException)",
    ),
]


@pytest.mark.parametrize(("body", "line", "shape"), SHAPES, ids=[shape for *_, shape in SHAPES])
def test_shapes_that_look_as_if_they_could_swallow_a_park(
    body: str, line: int, shape: str, tmp_path: Path
) -> None:
    root = write(tmp_path, {"tools/ask.py": TOOL + indent(body, "    ") + "\n"})
    (warning,) = load_agent(root, env={}).warnings
    assert str(warning).startswith(
        f"{root}/tools/ask.py:{line}: {shape} around request_input. fix: "
    )


def test_a_helper_that_asks_counts_as_asking(tmp_path: Path) -> None:
    body = "    await asyncio.gather(confirm(ctx), return_exceptions=True)\n"
    helper = (
        "\n\nasync def confirm(ctx: ToolContext) -> object:\n    return await really(ctx)\n\n\n"
        "async def really(ctx: ToolContext) -> object:\n"
        "    return await ctx.request_input(id='a', prompt='?')\n"
    )
    root = write(tmp_path, {"tools/ask.py": TOOL + body + helper})
    (warning,) = load_agent(root, env={}).warnings
    assert warning.line == 8


HARMLESS = [
    "await ctx.request_input(id='a', prompt='?')",
    "try:\n    await ctx.request_input(id='a', prompt='?')\nexcept Exception:\n    pass",
    "try:\n    await ctx.request_input(id='a', prompt='?')\nexcept BaseException:\n    raise",
    (
        "try:\n    await ctx.request_input(id='a', prompt='?')\nfinally:\n"
        "    for _ in range(3):\n        break"
    ),
    (
        "try:\n    await ctx.request_input(id='a', prompt='?')\nfinally:\n"
        "    def f() -> int:\n        return 1"
    ),
    "try:\n    pass\nexcept BaseException:\n    pass\nawait ctx.request_input(id='a', prompt='?')",
    "await asyncio.gather(ctx.request_input(id='a', prompt='?'), return_exceptions=False)",
    "with contextlib.suppress(ValueError):\n    await ctx.request_input(id='a', prompt='?')",
    "async with asyncio.TaskGroup():\n    pass\nawait ctx.request_input(id='a', prompt='?')",
]


@pytest.mark.parametrize("body", HARMLESS)
def test_shapes_that_are_fine(body: str, tmp_path: Path) -> None:
    root = write(tmp_path, {"tools/ask.py": TOOL + indent(body, "    ") + "\n"})
    assert load_agent(root, env={}).warnings == ()


MILD: list[tuple[dict[str, str | None], str]] = [
    (
        {
            "channels/slack.py": "def channel(env):\n    return None\n",
            "instructions.slack.md": "Short.",
            "instructions.cli.md": "Shorter.",
            "instructions.slak.md": "Shortest.",
        },
        "instructions.slak.md: is for no turn: nothing here emits the source 'slak' (did you mean",
    ),
    (
        {"agent.py": agent_py('    surfaces={\n        "slack": Surface(),\n    },')},
        "agent.py:7: has a policy for 'slack', but no mounted channel emits that source",
    ),
    (
        {"tools/x.py": "from gateway import tool\n\n@tool\ndef x() -> None:\n    pass\n"},
        "tools/x.py:3: has no docstring, so the model knows the tool by its name only",
    ),
    (
        {
            "tools/x.py": "from gateway import tool\n\n@tool(answerers={'policy': 'p'})\n"
            "async def x() -> None:\n    'X.'\n"
        },
        "tools/x.py:3: asks the policy 'p', but nobody can ever answer it",
    ),
    ({"instructions.md": None}, ": has no instructions.md"),
    ({"instructions.md": "\n"}, "instructions.md: is empty"),
    ({"instructions.slack.md": "\n"}, "instructions.slack.md: is empty"),
    ({"notes.txt": "x"}, "notes.txt: is ignored: it is not part of an agent directory"),
    ({"tools/data.json": "{}"}, "tools/data.json: is ignored: a tool is a .py file"),
    ({"skills/readme.txt": "x"}, "skills/readme.txt: is ignored: a skill is a folder"),
    ({"schedules/x.yml": "x"}, "schedules/x.yml: is ignored: a schedule is an .md or .py file"),
    ({"channels/slack.md": "x"}, "channels/slack.md: is ignored: a channel is a .py file"),
    (
        {
            "skills/returns/SKILL.md": "---\nname: returns\ndescription: D.\nallowed-tools: x\n---\nx"
        },
        "skills/returns/SKILL.md:4: names allowed-tools, which this release doesn't enforce",
    ),
]


@pytest.mark.parametrize(("files", "said"), MILD)
def test_what_is_told_but_stops_nothing(
    files: dict[str, str | None], said: str, tmp_path: Path
) -> None:
    root = write(tmp_path, files)
    (warning,) = load_agent(root, env={}).warnings
    assert said in str(warning)
    assert warning.file.startswith(str(root))


def test_a_policy_for_a_known_source_is_no_warning(tmp_path: Path) -> None:
    agent = agent_py('    surfaces={"slack": Surface(), "api": Surface(), "pager": Surface()},')
    root = write(tmp_path, {"agent.py": agent, "channels/slack.py": "def channel(env): ...\n"})
    loaded = load_agent(root, env={}, sources={"api", "pager"})
    assert loaded.warnings == ()


SLACK = "def channel(env): ...\n"
GIVE = """\
from gateway import tool

@tool(answerers={"policy": "gifts"})
async def give() -> None:
    "Give."
"""
REFUND = """\
from gateway import tool

REFUNDS = "refunds"

@tool(answerers={"policy": REFUNDS})
async def refund() -> None:
    "Refund."
"""
HOOK = "async def may(*, policy, scope, by, principal, request, speaker, services): return True"


def routed(root: Path, *policies: str) -> list[str]:
    """What is said of an agent that routes these policies."""
    routes = "\n".join(f'        "{policy}": "slack:C0123",' for policy in policies)
    more = f"    authorize_answer=may,\n    approvals={{\n{routes}\n    }},"
    files = {"agent.py": agent_py(more, HOOK), "channels/slack.py": SLACK}
    root = write(root, {**files, "tools/give.py": GIVE, "tools/refund.py": REFUND})
    return [str(warning).replace(f"{root}/", "") for warning in load_agent(root, env={}).warnings]


def test_approvals_of_a_policy_that_no_tool_asks_are_doubtful(tmp_path: Path) -> None:
    (told,) = routed(tmp_path / "a", "gift", "refunds", "taint")
    assert told.startswith("agent.py:8: says where 'gift' is shown, but no tool asks that policy")
    assert '(did you mean "gifts"?)' in told
    (alone,) = routed(tmp_path / "b", "gift")
    assert '(did you mean "gifts"?)' in alone
    (strange,) = routed(tmp_path / "c", "leads", "gifts")
    assert "did you mean" not in strange


def test_approvals_of_one_source_name_one_that_there_is(tmp_path: Path) -> None:
    assert routed(tmp_path / "a", "slack:gifts") == []
    (told,) = routed(tmp_path / "b", "emial:gifts", "refunds")
    assert "no mounted channel emits the source 'emial'" in told


def test_a_policy_alone_is_what_tainted_calls_fall_back_to(tmp_path: Path) -> None:
    assert routed(tmp_path, "leads") == []


def test_a_readme_is_welcome(tmp_path: Path) -> None:
    assert load_agent(write(tmp_path, {"README.md": "# Shop"}), env={}).warnings == ()
