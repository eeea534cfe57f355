"""Workspaces, organisations, people, channels, apps, and which token opens what.

Every secret made here begins with ``emulated`` (or ``xoxb-emulated-`` and the like), so that neither
side can be mistaken for the real one.
"""

from __future__ import annotations

from collections.abc import Collection

from channels.slack.emulator.wire import Refused
from channels.slack.emulator.world.base import Happening, World
from channels.slack.emulator.world.state import (
    AgentSession,
    App,
    Channel,
    ChannelKind,
    Enterprise,
    Grant,
    Install,
    Message,
    ResponseUrl,
    Team,
    Token,
    User,
)
from gateway.engine.kinds import JsonObject, Millis

ROTATION = Millis(12 * 3600 * 1000)
CODE_LIFE = 600.0
SECRET_PREFIX = "emulated-"  # noqa: S105 - how an emulated secret is told from a real one
TOKEN_PREFIXES = ("xoxb-emulated-", "xoxe.xoxb-emulated-", "xapp-emulated-")


def add_enterprise(world: World, name: str) -> Enterprise:
    enterprise = Enterprise(world.new_id("E"), name)
    world.enterprises[enterprise.id] = enterprise
    return enterprise


def add_team(world: World, name: str, enterprise: str | None = None) -> Team:
    team = Team(world.new_id("T"), name, enterprise)
    world.teams[team.id] = team
    return team


def add_user(world: World, team: Team, name: str, real_name: str = "") -> User:
    known = {user.name for user in world.users.values() if user.team == team.id}
    if name in known:
        raise ValueError(f"there is a {name!r} in {team.name} already; take another name")
    user = User(
        world.new_id("W" if team.enterprise else "U"),
        team.id,
        name,
        real_name or name.capitalize(),
        f"{name}@{team.name}.example",
        team.enterprise,
    )
    world.users[user.id] = user
    return user


def add_channel(
    world: World, team: Team, name: str, members: Collection[str], kind: ChannelKind = "channel"
) -> Channel:
    prefix = {"channel": "C", "group": "G", "mpim": "G", "im": "D"}[kind]
    channel = Channel(world.new_id(prefix), team.id, name, kind, world.now() // 1000, set(members))
    world.channels[channel.id] = channel
    world.messages[channel.id] = {}
    mark_shared(world, channel)
    return channel


def mark_shared(world: World, channel: Channel) -> None:
    """A channel with people of another company in it is a Slack Connect channel."""
    mine = world.teams[channel.team].enterprise
    for member in channel.members:
        user = world.users[member]
        if user.team != channel.team and not (mine and user.enterprise == mine):
            channel.shared.add(user.team)


def share(world: World, channel: Channel) -> None:
    """Offer a private channel to another company: from now on it has another id, and the old one is
    nobody's. What was written in it keeps its timestamps.

    Source: Slack docs "channel_id_changed event"."""
    old, new = channel.id, world.new_id("C")
    channel.id = new
    world.channels[new] = world.channels.pop(old)
    world.messages[new] = world.messages.pop(old)
    there: list[Message | AgentSession | ResponseUrl] = [
        *world.messages[new].values(),
        *world.ephemerals,
        *world.sessions.values(),
        *world.response_urls.values(),
    ]
    for one in there:
        if one.channel == old:
            one.channel = new
    world.sessions = {(one.app, one.channel, one.thread): one for one in world.sessions.values()}
    world.statuses = {
        (new if where == old else where, thread): said
        for (where, thread), said in world.statuses.items()
    }
    for file in world.files.values():
        if old in file.shares:
            file.shares[new] = file.shares.pop(old)
    event: JsonObject = {
        "type": "channel_id_changed",
        "old_channel_id": old,
        "new_channel_id": new,
        "event_ts": world.new_ts(),
    }
    world.tell(Happening(event=event, channel=new))


def direct(world: World, team: Team, members: Collection[str]) -> Channel:
    """The direct message of these people: there is only ever one."""
    for channel in world.channels.values():
        if channel.direct and channel.members == set(members):
            return channel
    kind: ChannelKind = "im" if len(set(members)) <= 2 else "mpim"
    name = "" if kind == "im" else "mpdm-" + "--".join(world.users[m].name for m in sorted(members))
    channel = add_channel(world, team, name, members, kind)
    apps = {world.users[member].app for member in members} - {None}
    for app in apps:
        if kind == "im" and app and world.apps[app].agent:
            channel.agent = app
    return channel


def add_app(world: World, name: str) -> App:
    app = App(
        world.new_id("A"),
        name,
        client_id=f"{len(world.apps) + 1}.{len(world.apps) + 1001}",
        client_secret=SECRET_PREFIX + world.secret(),
        signing_secret=SECRET_PREFIX + world.secret(),
        verification_token=SECRET_PREFIX + world.secret(),
        app_token="xapp-emulated-" + world.secret(),
    )
    world.apps[app.id] = app
    world.tokens[app.app_token] = Token(app.app_token, "app", app.id, None, ("connections:write",))
    return app


def install(world: World, app: App, into: Team | Enterprise, scopes: Collection[str]) -> Install:
    """Install, or install again: the bot stays the same person, its token is new."""
    org = isinstance(into, Enterprise)
    home = into if isinstance(into, Team) else _first_team(world, into)
    for known in world.installs:
        if known.app == app.id and known.key == into.id:
            known.scopes, known.active = tuple(scopes), True
            issue(world, known)
            return known
    user = _bot_user(world, app, home)
    made = Install(
        app.id,
        None if org else into.id,
        into.id if org else home.enterprise,
        user.id,
        user.bot or "",
        tuple(scopes),
    )
    world.installs.append(made)
    issue(world, made)
    return made


def _bot_user(world: World, app: App, home: Team) -> User:
    """The app's own user, who is one in all workspaces of an organisation."""
    for user in world.users.values():
        ours = user.team == home.id or (home.enterprise and user.enterprise == home.enterprise)
        if user.app == app.id and ours:
            return user
    user = add_user(world, home, app.name, app.name)
    user.app, user.bot, user.email = app.id, world.new_id("B"), ""
    return user


def _first_team(world: World, enterprise: Enterprise) -> Team:
    for team in world.teams.values():
        if team.enterprise == enterprise.id:
            return team
    raise ValueError(f"{enterprise.name} has no workspace yet; add one before installing an app")


def issue(world: World, made: Install) -> Token:
    """A new token. The one before it stays good until it expires, as on the platform."""
    rotates = world.apps[made.app].rotates
    prefix = TOKEN_PREFIXES[1] if rotates else TOKEN_PREFIXES[0]
    token = Token(prefix + world.secret(), "bot", made.app, made, made.scopes)
    if rotates:
        token.expires = Millis(world.now() + ROTATION)
        token.refresh = "xoxe-1-emulated-" + world.secret()
    world.tokens[token.value] = token
    made.token = token.value
    return token


def refresh(world: World, app: App, given: str) -> Token:
    """Each refresh token is good for once."""
    for token in world.tokens.values():
        if token.refresh == given and token.app == app.id:
            if token.refreshed or token.revoked or token.install is None:
                break
            token.refreshed = True
            return issue(world, token.install)
    raise Refused("invalid_refresh_token")


def grant(world: World, app: App, into: Team | Enterprise, user: User, redirect: str) -> Grant:
    """What the consent page hands back: a code for ``oauth.v2.access``."""
    org = isinstance(into, Enterprise)
    code = SECRET_PREFIX + world.secret()
    made = Grant(
        code,
        app.id,
        None if org else into.id,
        into.id if isinstance(into, Enterprise) else into.enterprise,
        user.id,
        app.scopes,
        redirect,
        world.monotonic() + CODE_LIFE,
    )
    world.grants[code] = made
    return made


def revoke(world: World, token: Token) -> None:
    token.revoked = True
    if token.install is None:
        return
    event: JsonObject = {
        "type": "tokens_revoked",
        "tokens": {"oauth": [], "bot": [token.install.user]},
        "event_ts": world.new_ts(),
    }
    world.tell(Happening(event=event, app=token.app, team=_team_of(world, token.install)))


def uninstall(world: World, made: Install) -> None:
    """Slack tells the app twice: that its tokens are gone, and that it is."""
    team = _team_of(world, made)
    for token in world.tokens.values():
        if token.install is made and not token.revoked:
            revoke(world, token)
    event: JsonObject = {"type": "app_uninstalled", "event_ts": world.new_ts()}
    world.tell(Happening(event=event, app=made.app, team=team))
    made.active = False


def _team_of(world: World, made: Install) -> str:
    return made.team or world.users[made.user].team


def authenticate(world: World, value: str) -> Token:
    """The token's record, or Slack's word for what is wrong with it."""
    if not value:
        raise Refused("not_authed")
    token = world.tokens.get(value)
    if token is None:
        raise Refused("invalid_auth")
    if token.revoked:
        raise Refused("token_revoked")
    if token.install is not None and not token.install.active:
        raise Refused("account_inactive")
    if token.expires is not None and world.now() >= token.expires:
        raise Refused("token_expired")
    return token
