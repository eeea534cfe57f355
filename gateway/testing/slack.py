"""Slack for tests of agents and apps: no account, no network, a clock that can be moved.

``playground()`` is a workspace that is ready to talk in; everything else is the emulator itself. The
settings of a gateway that is to use it are ``settings_for(slack, installation)``.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from channels.slack.emulator import (
    Channel,
    Fault,
    Impossible,
    Install,
    Limits,
    Message,
    Person,
    RealTime,
    Shortcut,
    Shown,
    SlackEmulator,
    Time,
    VirtualTime,
    Workspace,
)

__all__ = [
    "Channel",
    "Fault",
    "Impossible",
    "Install",
    "Limits",
    "Message",
    "Person",
    "Playground",
    "RealTime",
    "Shortcut",
    "Shown",
    "SlackEmulator",
    "Time",
    "VirtualTime",
    "Workspace",
    "furnish",
    "playground",
    "settings_for",
]


@dataclass(frozen=True, slots=True)
class Playground:
    """acme, where ada and the app june are in #support."""

    slack: SlackEmulator
    acme: Workspace
    june: Install
    ada: Person
    support: Channel

    @property
    def settings(self) -> Mapping[str, str]:
        return settings_for(self.slack, self.june)


def furnish(slack: SlackEmulator) -> Playground:
    """A workspace with the first people and a channel in it."""
    acme = slack.workspace("acme")
    june, ada = acme.install(), acme.person("ada")
    return Playground(slack, acme, june, ada, acme.channel("support", [ada, june]))


@asynccontextmanager
async def playground(
    time: Time | None = None, *, limits: Limits | None = None
) -> AsyncGenerator[Playground, None]:
    """The emulator with acme in it, on real time unless given another."""
    async with SlackEmulator(time=time, limits=limits) as slack:
        yield furnish(slack)


def settings_for(slack: SlackEmulator, installation: Install) -> Mapping[str, str]:
    """What a gateway is told to use the emulator: Socket Mode if the app does, HTTP otherwise."""
    app = slack.world.apps[installation.app]
    settings = {
        "SLACK_API_URL": slack.api_url.rstrip("/"),
        "SLACK_BOT_TOKEN": installation.token,
    }
    if app.socket:
        return {**settings, "SLACK_APP_TOKEN": app.app_token}
    return {**settings, "SLACK_SIGNING_SECRET": app.signing_secret}
