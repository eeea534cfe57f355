"""A workspace in a test's words: who is there, where they talk, what is installed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from channels.slack.emulator.cast.people import Person, user_id
from channels.slack.emulator.cast.screen import Impossible, Stage
from channels.slack.emulator.world import tenancy
from channels.slack.emulator.world.base import World
from channels.slack.emulator.world.state import App, Channel, ChannelKind, Install, Team, User

Member = Person | Install | User | str


@dataclass(slots=True)
class Workspace:
    world: World
    apps: Callable[[str | None], App]
    stage: Callable[[], Stage]
    team: Team

    @property
    def id(self) -> str:
        return self.team.id

    @property
    def name(self) -> str:
        return self.team.name

    def person(self, name: str, guest: Literal["", "multi", "single"] = "") -> Person:
        """Somebody of this name, hired when first asked for. Guests see what they are invited to."""
        for user in self.world.users.values():
            if user.team == self.team.id and user.name == name:
                return Person(self.stage, user)
        user = tenancy.add_user(self.world, self.team, name)
        user.restricted, user.ultra_restricted = bool(guest), guest == "single"
        return Person(self.stage, user)

    def channel(
        self, name: str, members: Collection[Member] = (), *, private: bool = False
    ) -> Channel:
        """Somebody from another company among the members makes it a Slack Connect channel."""
        kind: ChannelKind = "group" if private else "channel"
        for channel in self.world.channels.values():
            if channel.team == self.team.id and channel.name == name and not channel.direct:
                return self.invite(channel, members)
        ids = {user_id(member) for member in members}
        return tenancy.add_channel(self.world, self.team, name, ids, kind)

    def invite(self, channel: Channel, members: Collection[Member]) -> Channel:
        channel.members |= {user_id(member) for member in members}
        tenancy.mark_shared(self.world, channel)
        return channel

    def share(self, channel: Channel) -> Channel:
        """Offer a private channel to another company, which changes its id for good; who is invited
        then may be anybody."""
        if channel.kind != "group":
            raise Impossible(f"{channel.name} isn't private, and keeps its id")
        tenancy.share(self.world, channel)
        return channel

    def direct(self, *members: Member) -> Channel:
        """The direct message of two, or the group message of more."""
        return tenancy.direct(self.world, self.team, {user_id(member) for member in members})

    def install(self, app: App | str | None = None, scopes: Sequence[str] | None = None) -> Install:
        """Install an app here: the first one without a name, or another bot by its own."""
        found = app if isinstance(app, App) else self.apps(app)
        return tenancy.install(self.world, found, self.team, scopes or found.scopes)

    def bot(self, name: str) -> Person:
        """Somebody else's bot, which can be made to speak."""
        made = self.install(self.apps(name))
        return Person(self.stage, self.world.users[made.user])
