"""One call to the Web API as its method sees it: who asks, for which workspace, and about what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from channels.slack.emulator.limits import Tier
from channels.slack.emulator.wire import Args, Refused
from channels.slack.emulator.world import tenancy
from channels.slack.emulator.world.base import World
from channels.slack.emulator.world.depict import same_company
from channels.slack.emulator.world.state import (
    App,
    Channel,
    Install,
    Message,
    Token,
    TokenKind,
    User,
)
from gateway.engine.kinds import JsonObject
from gateway.engine.struct import struct


@dataclass(slots=True)
class Asking:
    world: World
    args: Args
    token: Token | None

    @property
    def app(self) -> App:
        if self.token is None:
            raise Refused("not_authed")
        return self.world.apps[self.token.app]

    @property
    def install(self) -> Install:
        if self.token is None or self.token.install is None:
            raise Refused("not_allowed_token_type")
        return self.token.install

    @property
    def me(self) -> User:
        return self.world.users[self.install.user]

    @property
    def team(self) -> str:
        """The workspace that is meant: a token of a whole organisation has to say which."""
        if self.install.team is not None:
            return self.install.team
        asked = self.args.text("team_id")
        team = self.world.teams.get(asked) if asked else None
        if asked and (team is None or team.enterprise != self.install.enterprise):
            raise Refused("team_not_found")
        return asked or self.me.team

    def workspace(self) -> str:
        """As ``team``, for methods that don't guess on behalf of an organisation's token."""
        if self.install.org and not self.args.text("team_id"):
            raise Refused("missing_argument").messages(["[ERROR] missing required field: team_id"])
        return self.team

    def channel(self, name: str = "channel") -> Channel:
        """The conversation, if this app may know of it."""
        given = self.args.need(name, "channel_not_found")
        world = self.world
        channel = world.channels.get(given) or self._by_name(given)
        if channel is None and given in world.users:
            home = world.teams[world.users[given].team]
            channel = tenancy.direct(world, home, {self.me.id, given})
        if channel is None or not self._visible(channel):
            raise Refused("channel_not_found")
        return channel

    def _by_name(self, given: str) -> Channel | None:
        for channel in self.world.channels.values():
            if given == f"#{channel.name}" and channel.team == self.team:
                return channel
        return None

    def _visible(self, channel: Channel) -> bool:
        if self.me.id in channel.members:
            return True
        teams = {channel.team, *channel.shared}
        mine = any(same_company(self.world, self.me, team) for team in teams)
        return mine and channel.kind == "channel"

    def writable(self, name: str = "channel") -> Channel:
        """A conversation that this app may write to now."""
        channel = self.channel(name)
        if channel.archived:
            raise Refused("is_archived")
        public = channel.kind == "channel" and "chat:write.public" in self.install.scopes
        if self.me.id not in channel.members and not public:
            raise Refused("not_in_channel")
        return channel

    def own(self, channel: Channel, error: str) -> Message:
        """A message that this app wrote."""
        message = self.world.message(channel.id, self.args.need("ts", "message_not_found"))
        if message.app != self.app.id:
            raise Refused(error)
        return message


Handler = Callable[[Asking], JsonObject]
ANYBODY: frozenset[TokenKind] = frozenset()
BOT: frozenset[TokenKind] = frozenset({"bot", "user"})
APP_LEVEL: frozenset[TokenKind] = frozenset({"app"})


@struct(frozen=True, slots=True, kw_only=True)
class Method:
    """``scopes``: one of them is enough. ``kinds``: which tokens; none at all if it is empty."""

    name: str
    handler: Handler
    scopes: tuple[str, ...] = ()
    tier: Tier = "3"
    kinds: frozenset[TokenKind] = BOT
