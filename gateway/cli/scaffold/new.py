"""``gateway new``: an agent directory to begin with, and a test that it passes."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from gateway.cli.base import Command, pass_out
from gateway.cli.exits import Exit
from gateway.cli.out import Out
from gateway.cli.problem import Problem
from gateway.cli.scaffold.files import agent_name, rendered, to_reach_it, to_test_it, write

FILES = {
    "agent/agent.py": "agent.py",
    "agent/instructions.md": "instructions.md",
    "agent/tools/opening_hours.py": "opening_hours.py",
    "agent/tools/book_visit.py": "book_visit.py",
    "agent/offline.py": "offline.py",
    "tests/test_agent.py": "test_agent.py",
    "pytest.ini": "pytest.ini",
    "gateway.toml": "gateway.toml",
    ".gitignore": "gitignore",
    "README.md": "README.md",
}
"""Where each file goes, and the template it is made of."""


@click.command(cls=Command, short_help="Make a new agent.")
@click.argument("directory", type=click.Path(path_type=Path))
@pass_out
def new(out: Out, directory: Path) -> None:
    """Make DIRECTORY with a small agent in it: two tools, one of which asks a person first."""
    beside = f"{directory}-2" if directory.name not in {"", ".."} else str(directory / "my-agent")
    other = f"gateway new {shlex.quote(beside)}"
    if directory.is_file() or (directory.is_dir() and any(directory.iterdir())):
        raise Problem(
            "exists",
            f"{directory} is there already and isn't empty; nothing was written",
            fix=other,
            exit_code=Exit.CONFLICT,
        )
    name = agent_name(directory.resolve().name)
    templates = {directory / place: template for place, template in FILES.items()}
    write(rendered(templates, {"name": name}), fix=other)
    if out.json:
        out.data({"directory": str(directory), "agent": name, "files": [*FILES]})
        return
    out.say(("✓ ", "green"), f"made {directory} with the agent {name}")
    if name != directory.resolve().name:
        out.say(("    the name stands in agent/agent.py: a-z, 0-9, - and _, a letter first", "dim"))
    for place in FILES:
        out.say((f"    {place}", "dim"))
    out.say("Next:")
    there = [] if directory.resolve() == Path.cwd() else [f"cd {shlex.quote(str(directory))}"]
    for line in (*to_reach_it(), *there, "gateway check", to_test_it(), "gateway dev"):
        out.say(f"    {line}")
