"""Files made of templates: all of them, or none, and never over somebody's work."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from string import Template

from gateway.cli.exits import Exit
from gateway.cli.problem import Problem


def rendered(templates: Mapping[Path, str], names: Mapping[str, str]) -> dict[Path, str]:
    """Each file's text. ``templates`` says which template (``templates/<name>.txt``) it is made of."""
    home = files("gateway.cli").joinpath("templates")
    return {
        # Only the names given are ours: the templates' own braces and dollars stay as they are.
        path: Template(home.joinpath(f"{template}.txt").read_text("utf-8")).safe_substitute(names)
        for path, template in templates.items()
    }


def write(made: Mapping[Path, str], *, fix: str) -> None:
    """Raises ``Problem`` if any of them is there already; then nothing was written."""
    if there := [str(path) for path in made if path.exists() or path.is_symlink()]:
        raise Problem(
            "exists",
            f"{', '.join(there)} {'is' if len(there) == 1 else 'are'} there already; nothing was written",
            fix=fix,
            exit_code=Exit.CONFLICT,
        )
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def agent_name(raw: str) -> str:
    """A directory's name as an agent's: small letters, digits, dashes, a letter first."""
    name = re.sub(r"[^a-z0-9_-]+", "-", raw.lower()).strip("-_")
    name = re.sub(r"^[^a-z]+", "", name)[:64]
    return name or "agent"


def to_reach_it() -> list[str]:
    """What makes ``gateway`` a command of the shell, where it isn't one: run by its path, or as a module."""
    place = Path(sys.executable).parent
    if shutil.which("gateway") or not (place / "gateway").exists():
        return []
    return [f'export PATH={shlex.quote(str(place))}:"$PATH"']


def to_test_it() -> str:
    """What runs an agent's tests. An environment that was set up to run it only has no pytest."""
    if find_spec("pytest"):
        return "pytest"
    return "pytest  # isn't installed here; in a clone of the gateway: make setup"
