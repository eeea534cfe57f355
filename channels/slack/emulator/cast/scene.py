"""The scene of a test: workspaces and people to set up, threads to look at, moments to wait for."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress

from channels.slack.emulator.blocks.render import Shown, shown
from channels.slack.emulator.cast.people import Person, channel_id
from channels.slack.emulator.cast.screen import Pointed, Stage
from channels.slack.emulator.cast.workspace import Workspace
from channels.slack.emulator.events.outlet import Outlet
from channels.slack.emulator.faults import Faults
from channels.slack.emulator.journal import Journal, Ping
from channels.slack.emulator.time import Time
from channels.slack.emulator.world import streaming, tenancy
from channels.slack.emulator.world.base import Happening, World
from channels.slack.emulator.world.state import App, Channel, Enterprise, Install, Message

GLANCE = 0.02


class Scene:
    """Everything but the socket."""

    def __init__(self, time: Time) -> None:
        self.time = time
        self.journal = Journal()
        self.faults = Faults()
        self.control_secret = tenancy.SECRET_PREFIX + secrets.token_hex(16)
        self.world = World(
            now=time.now,
            monotonic=time.monotonic,
            journal=self.journal,
            tell=self._tell,
            secret=lambda: secrets.token_hex(16),
        )
        self._outlet: Outlet | None = None

    @property
    def outlet(self) -> Outlet:
        if self._outlet is None:
            raise RuntimeError("the emulator doesn't run; enter it with `async with`")
        return self._outlet

    @property
    def signing_secret(self) -> str:
        return self.app().signing_secret

    @property
    def pinged(self) -> list[Ping]:
        return self.journal.pinged

    @property
    def stage(self) -> Stage:
        return Stage(self.world, self.outlet)

    def app(self, name: str | None = None) -> App:
        """The app of this name, made when it is first asked for; without a name, the first one."""
        for app in self.world.apps.values():
            if name in {None, app.name}:
                return app
        return tenancy.add_app(self.world, name or "june")

    def enterprise(self, name: str) -> Enterprise:
        for enterprise in self.world.enterprises.values():
            if enterprise.name == name:
                return enterprise
        return tenancy.add_enterprise(self.world, name)

    def workspace(self, name: str, enterprise: Enterprise | None = None) -> Workspace:
        for team in self.world.teams.values():
            if team.name == name:
                return Workspace(self.world, self.app, lambda: self.stage, team)
        home = enterprise.id if enterprise is not None else None
        team = tenancy.add_team(self.world, name, home)
        return Workspace(self.world, self.app, lambda: self.stage, team)

    def person(self, user: str) -> Person:
        """Somebody by their id, bots too: ``person(install.user)`` speaks as the bot."""
        return Person(lambda: self.stage, self.world.users[user])

    async def connect(self, app: App, url: str) -> None:
        """Enter the app's address, as one does in its settings: it has to pass the challenge."""
        if not await self.outlet.verify(app, url):
            raise ValueError(
                f"{url} didn't give the challenge back: is the signing secret of {app.name} set there?"
            )
        app.request_url, app.disabled = url, False

    def authorize(self, app: App, into: str, redirect: str) -> str:
        """Consent to an installation; the code that the browser carries back."""
        home = self.world.teams.get(into) or self.world.enterprises[into]
        people = [u for u in self.world.users.values() if into in {u.team, u.enterprise}]
        user = next((u for u in people if u.bot is None), None)
        if user is None:
            raise ValueError("nobody is there to consent; add a person to the workspace first")
        return tenancy.grant(self.world, app, home, user, redirect).code

    def uninstall(self, install: Install) -> None:
        tenancy.uninstall(self.world, install)

    def thread(self, channel: Channel | str, root: Pointed | str) -> list[Shown]:
        """What a person in the channel sees of a thread, root first."""
        streaming.expire(self.world)
        ts = root if isinstance(root, str) else root.ts
        return [self._shown(m) for m in self.world.in_thread(channel_id(channel), ts)]

    def shown(self, channel: Channel | str) -> list[Shown]:
        """Everything in a channel, oldest first, threads included."""
        streaming.expire(self.world)
        here = self.world.messages[channel_id(channel)].values()
        return [self._shown(m) for m in sorted(here, key=lambda m: m.ts)]

    def status(self, channel: Channel | str, thread: str) -> str:
        """The free-text status line of a thread, for as long as it is shown."""
        text, until = self.world.statuses.get((channel_id(channel), thread), ("", 0.0))
        return text if self.world.monotonic() < until else ""

    def private(self, person: Person) -> list[Shown]:
        """What only this person sees, in any channel."""
        return [self._shown(m) for m in self.world.ephemerals if m.only_for == person.id]

    def _shown(self, message: Message) -> Shown:
        author = self.world.users.get(message.user)
        return shown(message, message.username or (author.name if author else "slackbot"))

    async def until(self, holds: Callable[[], bool], seconds: float = 5.0) -> None:
        """Wait for something to become true; looked at when anything happens here, and now and then."""
        stir = asyncio.Event()
        self.journal.watchers.append(stir.set)
        try:
            async with asyncio.timeout(seconds):
                while not holds():
                    stir.clear()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(GLANCE):
                            await stir.wait()
        finally:
            self.journal.watchers.remove(stir.set)

    async def settled(self, seconds: float = 5.0) -> None:
        """Wait until every event was acknowledged or given up."""
        await self.until(lambda: all(sent.over for sent in self.journal.deliveries), seconds)

    def _tell(self, happening: Happening) -> None:
        if self._outlet is not None:
            self._outlet.tell(happening)
            self.journal.changed()
