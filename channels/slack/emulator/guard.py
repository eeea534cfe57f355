"""The emulator plays alone: on loopback, with secrets of its own, never beside a real workspace's."""

from __future__ import annotations

from collections.abc import Mapping

from channels.slack.emulator.world.tenancy import SECRET_PREFIX, TOKEN_PREFIXES
from gateway.engine.errors import ConfigError
from gateway.values import is_loopback

OURS: Mapping[str, tuple[str, ...]] = {
    "SLACK_BOT_TOKEN": TOKEN_PREFIXES,
    "SLACK_APP_TOKEN": TOKEN_PREFIXES,
    "SLACK_SIGNING_SECRET": (SECRET_PREFIX,),
    "SLACK_CLIENT_SECRET": (SECRET_PREFIX,),
}


def refuse_real(host: str, beside: Mapping[str, str]) -> None:
    """Raise ``ConfigError`` for an address that others reach, or a secret that isn't the emulator's."""
    if not is_loopback(host):
        raise ConfigError(
            f"the Slack emulator would listen on {host}, where others could reach it",
            fix="let it listen on 127.0.0.1",
        )
    for name, prefixes in OURS.items():
        value = beside.get(name, "")
        if value and not value.startswith(prefixes):
            raise ConfigError(
                f"{name} is a real workspace's, and the Slack emulator doesn't run beside one",
                fix=f"take {name} out of the environment, .env and gateway.toml",
            )
