"""A gateway with its playground on a socket, without a process of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from gateway.config import Settings
from gateway.host.app import make_app
from gateway.host.compose import Host, open_host
from gateway.playground.mail.dovecot import Choice
from gateway.playground.mail.office import MailOffice
from gateway.playground.office import Office
from gateway.playground.running import open_playground
from gateway.testing.slack import Message, SlackEmulator
from tests.support.cli import ROOT
from tests.support.http import on_socket

AGENT = ROOT / "agent"
PATIENCE = 25.0


@dataclass(frozen=True, slots=True)
class Playing:
    url: str
    """Of the page."""
    office: Office
    mail: MailOffice
    host: Host

    @property
    def slack(self) -> SlackEmulator:
        return self.office.slack

    def by_bot(self, asked: Message) -> list[str]:
        """What the agent wrote into a thread."""
        shown = self.slack.thread(asked.channel, asked.root)
        return [one.text for one in shown if one.author == self.office.bot]

    async def said(self, asked: Message, words: str) -> None:
        """Wait until the agent has written this."""
        await self.slack.until(lambda: any(words in one for one in self.by_bot(asked)), PATIENCE)

    def asked(self) -> Message:
        """The message that was posted last at the top of the first channel."""
        here = self.slack.world.messages[self.office.home.id].values()
        return max((one for one in here if one.root == one.ts), key=lambda one: one.ts)


@asynccontextmanager
async def playing(
    state: Path, agent: Path = AGENT, mail: Choice = "embedded"
) -> AsyncGenerator[Playing, None]:
    read = {
        "GATEWAY_AGENT": str(agent),
        "GATEWAY_STATE": str(state),
        "GATEWAY_MODEL": "scripted",
        "GATEWAY_API_TOKEN": "a-token-for-tests-only",
    }
    settings = Settings.load(read, toml_path=None)
    async with (
        open_playground(settings, mail) as playground,
        open_host(playground.settings, works=True) as host,
    ):
        app = make_app(host.api)
        playground.furnish(app, host)
        async with on_socket(app) as url:
            playground.open(url)
            try:
                yield Playing(f"{url}/playground", playground.office, playground.mail, host)
            finally:
                await playground.office.slack.settled(PATIENCE)
                host.api.end_streams()
                await asyncio.sleep(0)
