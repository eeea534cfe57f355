"""SQL by name: statements live in ``.sql`` files, one folder per dialect.

``queries.sql`` (sessions) and ``ledger.sql`` (the ways in and out) hold statements, each under a line
``-- name: …``; ``{other}`` in a statement stands for the text of another one, so that a list of
columns is written once. ``migrations/`` holds numbered scripts (``0001_initial.sql``); the highest
number is the schema version this release speaks.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from gateway.engine.struct import struct

_HEADER = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_REFERENCE = re.compile(r"\{(\w+)\}")


@struct(frozen=True, slots=True, order=True)
class Migration:
    version: int
    name: str
    script: str


@cache
def load_queries(dialect: str) -> dict[str, str]:
    """Every statement of the dialect's folder, by name, references filled in."""
    scripts = [item for item in files(__name__).joinpath(dialect).iterdir() if item.is_file()]
    raw: dict[str, str] = {}
    for script in sorted(scripts, key=lambda item: item.name):
        parts = _HEADER.split(script.read_text("utf-8"))[1:]
        for name, body in zip(parts[::2], parts[1::2], strict=True):
            if name in raw:
                raise ValueError(f"{dialect}/{script.name} names {name} a second time")
            raw[name] = _bare(body)
    return {name: _filled(body, raw) for name, body in raw.items()}


def load_migrations(dialect: str) -> tuple[Migration, ...]:
    """The numbered scripts of ``<dialect>/migrations``, in order and without a gap."""
    folder = files(__name__).joinpath(dialect, "migrations")
    found = sorted(
        Migration(int(entry.name[:4]), entry.name, entry.read_text("utf-8"))
        for entry in folder.iterdir()
        if entry.name.endswith(".sql")
    )
    if [migration.version for migration in found] != list(range(1, len(found) + 1)):
        raise ValueError(f"the migrations of {dialect} are not numbered 1, 2, 3 …")
    return tuple(found)


def _bare(body: str) -> str:
    lines = (line for line in body.splitlines() if not line.lstrip().startswith("--"))
    return "\n".join(lines).strip().rstrip(";")


def _filled(body: str, raw: dict[str, str]) -> str:
    while (filled := _REFERENCE.sub(lambda found: raw[found[1]], body)) != body:
        body = filled
    return body
