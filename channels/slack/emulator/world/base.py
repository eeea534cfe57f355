"""The world: everything that exists, and the happenings that apps may be told of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from channels.slack.emulator.journal import Journal
from channels.slack.emulator.wire import Refused
from channels.slack.emulator.world.state import (
    AgentSession,
    App,
    Channel,
    Enterprise,
    File,
    Grant,
    Install,
    Message,
    ResponseUrl,
    Team,
    Token,
    Trigger,
    User,
    View,
)
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.struct import struct

STREAM_LIFE = 300.0
TRIGGER_LIFE = 3.0
RESPONSE_LIFE = 1800.0
RESPONSE_USES = 5
LASTING = frozenset({"E", "T", "U", "W", "B", "C", "D", "G", "A"})
"""Begins the ids of who and where. They are the same whenever a workspace is set up the same way, so that
what somebody may decide, and where a schedule posts, outlives the emulator."""


@struct(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something that apps which subscribed to it are told."""

    event: JsonObject
    channel: str | None = None
    team: str | None = None
    app: str | None = None
    """Only this app is concerned, instead of all that are installed."""
    mentions: frozenset[str] = frozenset()
    """Users whom the message mentions: for a bot that is one event more."""


@dataclass(slots=True, kw_only=True)
class World:
    now: Callable[[], Millis]
    monotonic: Callable[[], float]
    journal: Journal
    tell: Callable[[Happening], None]
    """Called after the change, in the order of the changes."""
    secret: Callable[[], str]
    """Unguessable text, for tokens and secrets."""
    base_url: str = ""
    """Where the emulator listens."""
    ids_after: int = 0
    """Where the numbers in the ids of what happens begin: events, files, forms."""

    enterprises: dict[str, Enterprise] = field(default_factory=dict[str, Enterprise])
    teams: dict[str, Team] = field(default_factory=dict[str, Team])
    users: dict[str, User] = field(default_factory=dict[str, User])
    channels: dict[str, Channel] = field(default_factory=dict[str, Channel])
    messages: dict[str, dict[str, Message]] = field(default_factory=dict[str, dict[str, Message]])
    streaming: list[Message] = field(default_factory=list[Message])
    """Messages whose stream may still be written to."""
    ephemerals: list[Message] = field(default_factory=list[Message])
    apps: dict[str, App] = field(default_factory=dict[str, App])
    installs: list[Install] = field(default_factory=list[Install])
    tokens: dict[str, Token] = field(default_factory=dict[str, Token])
    sessions: dict[tuple[str, str, str], AgentSession] = field(
        default_factory=dict[tuple[str, str, str], AgentSession]
    )
    statuses: dict[tuple[str, str], tuple[str, float]] = field(
        default_factory=dict[tuple[str, str], tuple[str, float]]
    )
    """Free-text status lines with the moment at which each goes away."""
    prompts: dict[str, list[JsonObject]] = field(default_factory=dict[str, list[JsonObject]])
    views: dict[str, View] = field(default_factory=dict[str, View])
    triggers: dict[str, Trigger] = field(default_factory=dict[str, Trigger])
    response_urls: dict[str, ResponseUrl] = field(default_factory=dict[str, ResponseUrl])
    files: dict[str, File] = field(default_factory=dict[str, File])
    grants: dict[str, Grant] = field(default_factory=dict[str, Grant])
    upload_urls: dict[str, str] = field(default_factory=dict[str, str])
    tickets: dict[str, str] = field(default_factory=dict[str, str])
    """Socket addresses that were handed out, each good for one connection of its app."""
    _counters: Counter[str] = field(default_factory=Counter[str])
    _last_ts: int = 0

    def new_id(self, prefix: str) -> str:
        self._counters[prefix] += 1
        number = self._counters[prefix] + (0 if prefix in LASTING else self.ids_after)
        return f"{prefix}0E{number:07d}"

    def new_ts(self) -> str:
        """A message's name and moment in one. No two are the same, also in one millisecond."""
        micros = max(self.now() * 1000, self._last_ts + 1)
        self._last_ts = micros
        return f"{micros // 1_000_000}.{micros % 1_000_000:06d}"

    # -- finding -----------------------------------------------------------------------------------
    def message(self, channel: str, ts: str) -> Message:
        found = self.messages.get(channel, {}).get(ts)
        if found is None:
            raise Refused("message_not_found")
        return found

    def in_thread(self, channel: str, root: str) -> list[Message]:
        """The root and its replies, oldest first."""
        here = self.messages.get(channel, {}).values()
        return sorted((m for m in here if m.root == root), key=lambda message: message.ts)

    def installs_of(self, app: str) -> list[Install]:
        return [install for install in self.installs if install.app == app and install.active]

    def install_in(self, app: str, team: str) -> Install | None:
        """How this app is installed in a workspace: there, or in the whole organisation."""
        enterprise = self.teams[team].enterprise if team in self.teams else None
        for install in self.installs_of(app):
            if install.team == team or (install.org and install.enterprise == enterprise):
                return install
        return None

    def names(self, team: str) -> dict[str, str]:
        """User ids by the names that people type."""
        return {user.name: user.id for user in self.users.values() if user.team == team}
