"""A set-up that is healthy: an agent in Slack's emulator, a host that runs, a manifest that fits. Each test
breaks one thing of it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, chdir
from dataclasses import dataclass, field, replace
from pathlib import Path

from gateway.cli.doctor.examine import examine
from gateway.cli.doctor.finding import Area, Finding
from gateway.cli.operate.manifest import App, as_yaml, manifest, read_app
from gateway.config import Settings
from gateway.engine.limits import SYSTEM_CLOCK, SYSTEM_WAITS, Clock, Waits
from gateway.host.app import make_app
from gateway.host.compose import Host, open_host
from gateway.host.hostfile import announce, make_cli_token, withdraw
from gateway.testing.slack import Channel, Playground, SlackEmulator, Time, furnish
from tests.support.cli import TOKEN
from tests.support.http import on_socket
from tests.unit.definition.directories import write

SLACK = """
    from channels.slack import slack_channel

    def channel(env):
        return slack_channel(env)
"""
AGENT = """
    from gateway import Agent

    async def decides(**asked):
        return asked["by"].startswith("slack:")

    agent = Agent(
        name="june",
        model="claude-sonnet-5-5",
        approvals={"refunds": "slack:%s"},
        authorize_answer=decides,
    )
"""
REFUND = '''
    from gateway import ToolContext, tool

    @tool(effect="money", key=("order_id",), answerers={"policy": "refunds"})
    async def issue_refund(ctx: ToolContext, order_id: str) -> dict[str, object]:
        """Give money back."""
        done = await ctx.request_input(
            id="refund", prompt="Refund?", schema=bool, answerers={"policy": "refunds"}
        )
        return {"refunded": done}
'''
DAILY = '---\ncron: "0 9 * * 1-5"\ntimezone: Europe/Paris\ntarget: slack:%s\n---\nWrite it.\n'


@dataclass(slots=True)
class Clinic:
    folder: Path
    place: Playground
    leads: Channel
    clock: Clock = SYSTEM_CLOCK
    changes: dict[str, str] = field(default_factory=dict[str, str])
    host: Host | None = None
    url: str = "http://127.0.0.1:9"
    _life: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def slack(self) -> SlackEmulator:
        return self.place.slack

    def settings(self, **changes: str) -> Settings:
        """An empty one is none."""
        read = {
            **self.place.settings,
            "GATEWAY_AGENT": str(self.folder / "agent"),
            "GATEWAY_STATE": str(self.folder / "state"),
            "GATEWAY_MODEL": "scripted",
            "GATEWAY_API_TOKEN": TOKEN,
            "PORT": "0",
            "GATEWAY_PUBLIC_URL": self.url,
            **self.changes,
            **changes,
        }
        return Settings.load({k: v for k, v in read.items() if v}, toml_path=None)

    def agent(self, files: Mapping[str, str | None] | None = None) -> None:
        """Write the agent's directory, with files changed or left out."""
        named: dict[str, str | None] = {
            "agent.py": AGENT % self.leads.id,
            "channels/slack.py": SLACK,
            "tools/issue_refund.py": REFUND,
            "schedules/daily.md": DAILY % self.place.support.id,
        }
        root = self.folder / "agent"
        shutil.rmtree(root, ignore_errors=True)
        write(root, {**named, **(files or {})})

    async def app(self) -> App:
        return await asyncio.to_thread(read_app, self.settings(), self.folder / "agent")

    async def paste(self, app: App | None = None) -> None:
        """Keep the manifest, as one does who has pasted it."""
        text = as_yaml(manifest(app or await self.app()))
        await asyncio.to_thread((self.folder / "manifest.yml").write_text, text)

    def edit(self, old: str, new: str) -> None:
        file = self.folder / "manifest.yml"
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    async def start(self, *, waits: Waits = SYSTEM_WAITS, settings: Settings | None = None) -> Host:
        """A host at work on the state directory, in the app as the address of events."""
        token, settings = make_cli_token(), settings or self.settings()
        async with AsyncExitStack() as life:
            opened = open_host(settings, tokens=(token,), works=True, waits=waits)
            self.host = await life.enter_async_context(opened)
            self.url = await life.enter_async_context(on_socket(make_app(self.host.api)))
            life.push_async_callback(asyncio.to_thread, withdraw, settings.state)
            await asyncio.to_thread(
                announce, settings.state, self.url, token, settings.database_url
            )
            app = self.slack.app()
            app.request_url = app.interactivity_url = f"{self.url}/channels/slack"
            self._life = life.pop_all()
        return self.host

    async def stop(self) -> None:
        await self._life.aclose()
        self.host = None

    async def complains(self, words: str) -> None:
        """Wait until the host says this of Slack."""
        assert self.host is not None
        registry = self.host.api.registry
        await self.slack.until(lambda: words in (registry.problem("slack") or ""), 20)

    async def look(
        self, *areas: Area, online: bool = True, **changes: str
    ) -> Mapping[str, Finding]:
        """What the doctor finds, by id; each id once."""
        settings = self.settings(**changes)
        found = await examine(settings, areas, online=online, clock=self.clock)
        by_id = {one.id: one for one in found}
        assert len(by_id) == len(found), found
        return by_id

    async def only(self, id: str, *areas: Area, online: bool = True, **changes: str) -> Finding:  # noqa: A002
        """The one finding there is."""
        found = await self.look(*areas, online=online, **changes)
        assert [*found] == [id], found
        return found[id]


@asynccontextmanager
async def clinic(
    folder: Path,
    time: Time | None = None,
    *,
    scopes: Collection[str] = (),
    socket: bool = False,
) -> AsyncGenerator[Clinic]:
    async with SlackEmulator(time=time) as slack:
        place = furnish(slack)
        slack.app().socket = socket
        if scopes:
            place = replace(place, june=place.acme.install(scopes=[*scopes]))
        leads = place.acme.channel("leads", [place.june, place.ada])
        made = Clinic(folder, place, leads)
        with chdir(folder):
            made.agent()
            await made.paste()
            try:
                yield made
            finally:
                await made.stop()


@asynccontextmanager
async def running(folder: Path, *, socket: bool = False) -> AsyncGenerator[Clinic]:
    """The healthy one, with its host."""
    async with clinic(folder, socket=socket) as made:
        await made.start()
        await made.paste()
        yield made
