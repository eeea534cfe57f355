"""The playground's own key for what is signed and sealed, kept so that a restart knows what it signed."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from gateway.engine.errors import ConfigError

FILE = "dev.key"


def own_key(state: Path) -> str:
    """The key in the state directory; made when there is none. Raises ``ConfigError``."""
    path = state / FILE
    try:
        try:
            made = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            return path.read_text("ascii").strip()
        with os.fdopen(made, "w", encoding="ascii") as file:
            file.write(key := secrets.token_hex(32))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"the playground's key can't be kept in {path}: {error}",
            fix=f"remove {path}, or set GATEWAY_SECRET_KEYS",
        ) from error
    return key
