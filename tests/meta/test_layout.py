"""What the repository looks like from outside: its root, the size of its rooms, its public names."""

from __future__ import annotations

import types
from collections import Counter

import gateway
from tests.meta.tree import files, python_files, text, verdict

ROOT_LISTING = {
    *(".ci", ".dockerignore", ".gitignore", "Dockerfile", "Makefile", "Procfile", "README.md"),
    "manifest.yml",
    *("agent", "benchmarks", "channels", "deploy", "docs", "gateway", "tests"),
    *("pyproject.toml", "requirements-build.txt", "requirements-dev.txt", "requirements.txt"),
}

MOST_LINES = 400
MOST_FILES = 15

# What was over budget when the budget came, with its size. The lists may only shrink.
LONG_FILES: dict[str, int] = {}
FULL_FOLDERS: dict[str, int] = {}

PUBLIC = {
    *("Agent", "FatalToolError", "ModelReply", "ModelRequest", "Schedule", "Surface", "Target"),
    *("Tool", "ToolContext", "tool"),
}


def test_root_listing_is_pinned() -> None:
    found = {name.split("/")[0] for name in files()}
    offences = dict.fromkeys(found - ROOT_LISTING, "isn't in the list")
    offences |= dict.fromkeys(ROOT_LISTING - found, "is missing")
    verdict(
        "The root shows what the project is in one glance, so it is pinned.",
        "put the file into the room it belongs to (tool settings into pyproject.toml); if it really"
        " belongs at the root, add it to ROOT_LISTING.",
        offences,
    )


def test_files_are_short() -> None:
    sizes = {name: len(text(name).splitlines()) for name in python_files()}
    verdict(
        f"A file that fits in a reader's head has at most {MOST_LINES} lines.",
        "split it by verb. LONG_FILES may only shrink.",
        _over(sizes, MOST_LINES, LONG_FILES, "lines"),
    )


def test_folders_are_seen_at_a_glance() -> None:
    sizes = Counter(name.rpartition("/")[0] or "." for name in python_files())
    verdict(
        f"A folder seen at a glance has at most {MOST_FILES} Python files.",
        "make a room for what belongs together. FULL_FOLDERS may only shrink.",
        _over(sizes, MOST_FILES, FULL_FOLDERS, "Python files"),
    )


def _over(sizes: dict[str, int], most: int, known: dict[str, int], of: str) -> dict[str, str]:
    """What is over its budget, and known exceptions whose figure is no longer the true one."""
    found: dict[str, str] = {}
    for name in sizes.keys() | known.keys():
        size, allowed = sizes.get(name, 0), known.get(name, most)
        if size > allowed:
            found[name] = f"{size} {of}, at most {allowed}"
        elif name in known and size < allowed:
            found[name] = (
                f"now {size} {of}: lower its figure, or delete it if that is at most {most}"
            )
    return found


def test_public_names_are_frozen() -> None:
    visible = {
        name
        for name, value in vars(gateway).items()
        if not name.startswith("_")
        and name not in {"TYPE_CHECKING", "annotations"}
        and not isinstance(value, types.ModuleType)
    }
    exported = set(gateway.__all__)
    offences = dict.fromkeys((exported | visible) - PUBLIC, "is public, and not in the list")
    offences |= dict.fromkeys(PUBLIC - exported, "isn't in gateway.__all__")
    offences |= {name: "can't be imported" for name in exported if not hasattr(gateway, name)}
    verdict(
        "`from gateway import …` is what agents in other people's repositories are written with.",
        "keep a helper in its own module; a new public name needs its docs and its place in PUBLIC.",
        offences,
    )
