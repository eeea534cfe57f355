"""The emulator plays alone: on loopback, with passwords of its own, never beside a real mailbox's."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.engine.errors import ConfigError
from gateway.values import is_loopback

PASSWORD_PREFIX = "emulated-"  # noqa: S105 - says that it is none


def refuse_real(host: str, beside: Mapping[str, str]) -> None:
    """Raise ``ConfigError`` for an address that others reach, or a secret that isn't the emulator's."""
    if not is_loopback(host):
        raise ConfigError(
            f"the mail server for trying things out would listen on {host}, where others could reach it",
            fix="let it listen on 127.0.0.1",
        )
    for name, value in beside.items():
        if value and not value.startswith(PASSWORD_PREFIX):
            raise ConfigError(
                f"{name} is a real mailbox's, and the mail server for trying things out doesn't run beside one",
                fix=f"take {name} out of the environment, .env and gateway.toml",
            )
