"""Agent directories for tests: a good one, and changes to it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

GOOD = {
    "agent.py": """
        from gateway import Agent

        agent = Agent(name="shop", model="claude-sonnet-5-5")
    """,
    "instructions.md": "You help.\n",
    "tools/find_order.py": '''
        from gateway import ToolContext, tool

        @tool(effect="read")
        def find_order(ctx: ToolContext, order_id: str) -> dict[str, object]:
            """Look an order up."""
            return {"id": order_id}
    ''',
    "skills/returns/SKILL.md": """
        ---
        name: returns
        description: How returns work.
        ---
        Ask for the parcel.
    """,
    "schedules/daily.md": """
        ---
        cron: "0 9 * * 1-5"
        timezone: Europe/Paris
        missed: skip
        within: 30m
        ---
        Write the digest.
    """,
    "offline.py": """
        from gateway import ModelReply, ModelRequest

        def reply(request: ModelRequest) -> ModelReply:
            return ModelReply.say("offline")
    """,
}


def write(root: Path, changes: Mapping[str, str | None] | None = None) -> Path:
    """The good directory with files changed, added, or (``None``) left out. A name that ends with
    ``/`` is an empty folder."""
    files: dict[str, str | None] = {**GOOD, **(changes or {})}
    for name, text in files.items():
        if text is None:
            continue
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
    return root


def agent_py(arguments: str = "", before: str = "") -> str:
    """``agent.py`` with more arguments, given after the name and the model on their own lines."""
    head = "from gateway import Agent, Surface\n"
    return f'{head}{dedent(before)}\nagent = Agent(\n    name="shop",\n    model="m",\n{arguments}\n)\n'
