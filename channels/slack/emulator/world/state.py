"""The things of a Slack workspace, as plain records that change in place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gateway.engine.kinds import JsonObject, Millis

ChannelKind = Literal["channel", "group", "im", "mpim"]
StreamState = Literal["in_progress", "completed", "errored"]
SessionState = Literal["processing", "active", "suspended", "closed"]
TokenKind = Literal["bot", "app", "user"]

BOT_SCOPES = (
    *("app_mentions:read", "assistant:write", "channels:history", "channels:join", "channels:read"),
    *("chat:write", "commands", "files:read", "files:write", "groups:history", "groups:read"),
    *("im:history", "im:read", "im:write", "mpim:history", "mpim:read", "mpim:write"),
    *("reactions:read", "reactions:write", "team:read", "users:read", "users:read.email"),
)
BOT_EVENTS = (
    *("app_mention", "message.channels", "message.groups", "message.im", "message.mpim"),
    *("app_home_opened", "app_context_changed", "agent_session_stopped"),
    *("agent_session_title_changed", "app_uninstalled", "channel_id_changed", "tokens_revoked"),
)


@dataclass(slots=True)
class Enterprise:
    id: str
    name: str


@dataclass(slots=True)
class Team:
    id: str
    name: str
    enterprise: str | None = None


@dataclass(slots=True)
class User:
    id: str
    team: str
    name: str
    real_name: str
    email: str
    enterprise: str | None = None
    bot: str | None = None
    app: str | None = None
    restricted: bool = False
    ultra_restricted: bool = False
    deleted: bool = False


@dataclass(slots=True)
class Channel:
    id: str
    team: str
    name: str
    kind: ChannelKind
    created: int
    members: set[str]
    shared: set[str] = field(default_factory=set[str])
    """Other companies' workspaces, in a Slack Connect channel."""
    archived: bool = False
    agent: str | None = None
    """The app whose agent view this direct message is."""

    @property
    def external(self) -> bool:
        return bool(self.shared)

    @property
    def direct(self) -> bool:
        return self.kind in {"im", "mpim"}


@dataclass(slots=True)
class Task:
    id: str
    title: str = ""
    status: str = "pending"
    details: str = ""
    output: str = ""
    sources: list[JsonObject] = field(default_factory=list[JsonObject])


@dataclass(slots=True)
class Piece:
    """One part of a streamed message, in the order in which it came."""

    kind: Literal["text", "task", "blocks"]
    text: str = ""
    task: str = ""
    blocks: list[JsonObject] = field(default_factory=list[JsonObject])


@dataclass(slots=True)
class Stream:
    started: float
    ends: float
    display: str
    state: StreamState = "in_progress"
    mode: Literal["chunks", "text"] | None = None
    stopped_by: str | None = None
    plan: str = ""
    pieces: list[Piece] = field(default_factory=list[Piece])
    tasks: dict[str, Task] = field(default_factory=dict[str, Task])
    expired: bool = False


@dataclass(slots=True, eq=False)
class Message:
    channel: str
    ts: str
    user: str
    team: str
    text: str = ""
    bot: str | None = None
    app: str | None = None
    username: str | None = None
    blocks: list[JsonObject] = field(default_factory=list[JsonObject])
    attachments: list[JsonObject] = field(default_factory=list[JsonObject])
    files: list[str] = field(default_factory=list[str])
    thread: str | None = None
    subtype: str | None = None
    metadata: JsonObject | None = None
    edited: tuple[str, str] | None = None
    """Who changed the text, and the moment as a ts."""
    client_msg_id: str | None = None
    reactions: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    stream: Stream | None = None
    rewritten: bool = False
    """A streamed message that an update replaced: its pieces are no longer what is shown."""
    parse: str = ""
    unfurls: bool = False
    app_context: JsonObject | None = None
    only_for: str | None = None
    """The one person who sees an ephemeral message."""

    @property
    def root(self) -> str:
        return self.thread or self.ts


@dataclass(slots=True)
class AgentSession:
    """The state of one thread that an agent works in."""

    app: str
    channel: str
    thread: str
    status: SessionState
    title: str = ""
    initiator: str = ""


@dataclass(slots=True)
class Shortcut:
    callback: str
    kind: Literal["global", "message"]


@dataclass(slots=True)
class App:
    id: str
    name: str
    client_id: str
    client_secret: str
    signing_secret: str
    verification_token: str
    app_token: str
    events: set[str] = field(default_factory=lambda: set(BOT_EVENTS))
    request_url: str = ""
    interactivity_url: str = ""
    commands: dict[str, str] = field(default_factory=dict[str, str])
    """Slash command → its own address; empty is the request address."""
    shortcuts: dict[str, Shortcut] = field(default_factory=dict[str, Shortcut])
    redirect_urls: set[str] = field(default_factory=set[str])
    scopes: tuple[str, ...] = BOT_SCOPES
    socket: bool = False
    agent: bool = True
    distributed: bool = False
    """Sold outside the marketplace: its history reads are cut to a trickle."""
    rotates: bool = False
    disabled: bool = False
    """Slack stopped sending events because too few of them succeeded."""


@dataclass(slots=True)
class Install:
    app: str
    team: str | None
    enterprise: str | None
    user: str
    bot: str
    scopes: tuple[str, ...]
    token: str = ""
    active: bool = True

    @property
    def org(self) -> bool:
        return self.team is None

    @property
    def key(self) -> str:
        return (self.enterprise if self.team is None else self.team) or ""


@dataclass(slots=True)
class Token:
    value: str
    kind: TokenKind
    app: str
    install: Install | None
    scopes: tuple[str, ...]
    expires: Millis | None = None
    revoked: bool = False
    refresh: str | None = None
    refreshed: bool = False
    """Its refresh token was used: each is good for once."""


@dataclass(slots=True)
class View:
    id: str
    app: str
    team: str
    user: str
    kind: Literal["modal", "home"]
    view: JsonObject
    hash: str
    root: str
    previous: str | None = None
    open: bool = True
    errors: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(slots=True)
class Trigger:
    id: str
    app: str
    team: str
    user: str
    until: float
    used: bool = False


@dataclass(slots=True)
class ResponseUrl:
    id: str
    app: str
    team: str
    user: str
    channel: str
    message: str | None
    thread: str | None
    until: float
    left: int


@dataclass(slots=True)
class File:
    id: str
    team: str
    user: str
    name: str
    size: int
    media_type: str
    body: bytes | None = None
    title: str = ""
    shares: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    check_info: bool = False
    """Shared from elsewhere: events hold its id only."""
    ready: bool = False


@dataclass(slots=True)
class Grant:
    """A code that ``oauth.v2.access`` takes once."""

    code: str
    app: str
    team: str | None
    enterprise: str | None
    user: str
    scopes: tuple[str, ...]
    redirect: str
    until: float
    used: bool = False
