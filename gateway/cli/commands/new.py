"""``gateway new``: an agent directory to begin with, and a test that it passes."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from string import Template

import click

from gateway.cli.base import Command, pass_out
from gateway.cli.exits import Exit
from gateway.cli.out import Out
from gateway.cli.problem import Problem

FILES = {
    "agent/agent.py": "agent.py",
    "agent/instructions.md": "instructions.md",
    "agent/tools/opening_hours.py": "opening_hours.py",
    "agent/tools/book_visit.py": "book_visit.py",
    "agent/offline.py": "offline.py",
    "tests/test_agent.py": "test_agent.py",
    "gateway.toml": "gateway.toml",
    ".gitignore": "gitignore",
    "README.md": "README.md",
}
"""Where each file goes, and the template (``templates/<name>.txt``) it is made of."""


@click.command(cls=Command, short_help="Make a new agent.")
@click.argument("directory", type=click.Path(path_type=Path))
@pass_out
def new(out: Out, directory: Path) -> None:
    """Make DIRECTORY with a small agent in it: two tools, one of which asks a person first."""
    if directory.is_file() or (directory.is_dir() and any(directory.iterdir())):
        raise Problem(
            "exists",
            f"{directory} is there already and isn't empty; nothing was written",
            fix=f"gateway new {directory}-2",
            exit_code=Exit.CONFLICT,
        )
    name = agent_name(directory.resolve().name)
    for place, template in FILES.items():
        target = directory / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_render(template, name), encoding="utf-8")
    if out.json:
        out.data({"directory": str(directory), "agent": name, "files": [*FILES]})
        return
    out.say(("✓ ", "green"), f"made {directory} with the agent {name}")
    for place in FILES:
        out.say((f"    {place}", "dim"))
    out.say("Next:")
    for line in (f"cd {directory}", "gateway check", "GATEWAY_MODEL=scripted gateway chat"):
        out.say(f"    {line}")


def agent_name(raw: str) -> str:
    """A directory's name as an agent's: small letters, digits, dashes, a letter first."""
    name = re.sub(r"[^a-z0-9_-]+", "-", raw.lower()).strip("-_")
    name = re.sub(r"^[^a-z]+", "", name)[:64]
    return name or "agent"


def _render(template: str, name: str) -> str:
    text = files("gateway.cli").joinpath("templates", f"{template}.txt").read_text("utf-8")
    # Only $name is ours: the templates' own braces and dollars stay as they are.
    return Template(text).safe_substitute(name=name)
