"""``.env`` is for development: whoever types a command works in a project, so all of them read it but
``serve``, which a machine starts with an environment of its own. What would get lost between the two is told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

DOTENV = Path(".env")
TAKE_OVER = "set -a; . ./.env; set +a; gateway serve"
"""Whoever wants to serve with it puts it into the environment."""


def left_alone(names: Sequence[str]) -> str:
    """What ``serve`` runs without, for its log; empty for no names."""
    if not names:
        return ""
    told = ", ".join(names)
    return f"serve doesn't read .env, which alone sets {told}; to run with it: {TAKE_OVER}"
