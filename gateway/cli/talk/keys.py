"""Session keys the CLI makes."""

from __future__ import annotations

import re
import secrets

from gateway.cli.seat import user


def new_session() -> str:
    """``cli-robin-3f9a01``: recognisable in a list, and nobody else's."""
    name = re.sub(r"[^A-Za-z0-9._-]", "", user()) or "local"
    return f"cli-{name}-{secrets.token_hex(3)}"
