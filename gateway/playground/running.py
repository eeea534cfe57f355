"""The playground as a whole: an emulated Slack, the gateway beside it, and the page between them."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from aiohttp import web

from channels.slack.emulator import SlackEmulator, fresh_ids
from channels.slack.emulator.guard import refuse_real
from gateway.config import BY_ENV, Settings
from gateway.definition.author import Target
from gateway.host.compose import Host
from gateway.host.serving import Serving, serve
from gateway.playground.database import claim
from gateway.playground.desk import Desk
from gateway.playground.office import Office, furnish
from gateway.playground.site import Site

DATABASE = "dev.db"
APPROVERS = "REFUND_APPROVERS"
"""What the demo's agent reads about who may approve; an agent that doesn't know it isn't disturbed."""
OPERATORS = ("api:", "cli:", "console:")
_CHANNEL = re.compile(r"[CG][A-Z0-9]+")


@dataclass(slots=True, kw_only=True)
class Playground:
    """``settings`` are the gateway's beside it."""

    office: Office
    settings: Settings
    _agent: str = ""

    def furnish(self, app: web.Application, host: Host) -> None:
        """Give the host its page, and the workspace what the agent's files speak of."""
        self._agent = host.api.agent
        self._places(host)
        mounted = "slack" in host.loaded.channels
        Site(office=self.office, desk=Desk(self.office), api=host.api, mounted=mounted).mount(app)

    def open(self, url: str) -> None:
        """The gateway takes requests at this address."""
        self.office.open_to(self._agent, f"{url}/channels/slack")

    def _places(self, host: Host) -> None:
        routed = {Target.parse(to): name for name, to in host.loaded.agent.approvals.items()}
        for schedule in host.loaded.schedules.values():
            if isinstance(schedule.target, Target):
                routed.setdefault(schedule.target, "ops")
        for target, name in routed.items():
            if target.channel == "slack" and _CHANNEL.fullmatch(target.address):
                self.office.add_channel(target.address, name)


def own_settings(settings: Settings) -> Settings:
    """The settings with a database of the playground's own, unless one was named."""
    if "database_url" in settings.origins:
        return settings
    return replace(settings, database_url=f"sqlite:///{settings.state / DATABASE}")


@asynccontextmanager
async def open_playground(settings: Settings) -> AsyncGenerator[Playground, None]:
    """Raises ``ConfigError`` beside a real workspace's secret, or on a database with other data."""
    async with SlackEmulator(beside=slack_secrets(settings)) as slack:
        slack.world.ids_after = fresh_ids()  # the database remembers what the last one sent
        mine = own_settings(settings)
        await claim(mine)
        office = furnish(slack)
        yield Playground(office=office, settings=_with_slack(mine, office))


def _with_slack(settings: Settings, office: Office) -> Settings:
    """The settings of a gateway that uses this workspace, where its leads may approve."""
    told = {**office.settings, "DATABASE_URL": settings.database_url}
    values: dict[str, Any] = {
        BY_ENV[name].field: BY_ENV[name].parse(value) for name, value in told.items()
    }
    approvers = {APPROVERS: ",".join((*OPERATORS, *office.leads))}
    return replace(settings, **values, environ={**approvers, **settings.environ, **told})


def slack_secrets(settings: Settings) -> Mapping[str, str]:
    """The Slack secrets that a gateway with these settings would use."""
    known = {
        "SLACK_BOT_TOKEN": settings.slack_bot_token,
        "SLACK_APP_TOKEN": settings.slack_app_token,
        "SLACK_SIGNING_SECRET": settings.slack_signing_secret,
        "SLACK_CLIENT_SECRET": settings.slack_client_secret,
    }
    return {name: secret.value for name, secret in known.items() if secret is not None}


async def play(settings: Settings, serving: Serving) -> int:
    """Serve a gateway with its playground until it is told to stop; the exit code."""
    ready = serving.ready
    async with open_playground(settings) as playground:

        def opened(url: str) -> None:
            playground.open(url)
            if ready is not None:
                ready(url)

        serving.furnish, serving.ready = playground.furnish, opened
        return await serve(playground.settings, serving)


async def beside_emulator(settings: Settings, serving: Serving) -> int:
    """The same beside an emulator that runs elsewhere, whose page isn't ours to draw."""
    refuse_real(settings.host, slack_secrets(settings))
    mine = own_settings(settings)
    await claim(mine)
    return await serve(mine, serving)
