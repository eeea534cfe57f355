"""Who is told of a happening, and how often: a mention is two events with two ids.

An app hears of a conversation that its bot is in, if it subscribed to that kind. Its own messages come
back to it, with its ``bot_id``. A mention by somebody of another company names our workspace as its ``team``,
and theirs beside it.

Source: Slack docs "app_mention event", "Slack Connect"; bolt-python tests/slack_bolt/request/test_internals.py.
"""

from __future__ import annotations

from channels.slack.emulator.events.envelope import callback
from channels.slack.emulator.journal import Delivered
from channels.slack.emulator.wire import a_text
from channels.slack.emulator.world.base import Happening, World
from channels.slack.emulator.world.depict import same_company
from channels.slack.emulator.world.state import App, Channel, Install
from gateway.engine.kinds import JsonObject

SUBSCRIPTIONS = {
    "channel": "message.channels",
    "group": "message.groups",
    "im": "message.im",
    "mpim": "message.mpim",
}
ONLY_MESSAGE = frozenset({"channel_type", "bot_profile"})


def deliveries(world: World, happening: Happening, mention_first: bool) -> list[Delivered]:
    """The events that leave for this happening, in the order in which they are sent."""
    found: list[Delivered] = []
    for app in world.apps.values():
        install = _hears(world, app, happening)
        if install is not None:
            found += _for(world, app, install, happening, mention_first)
    return found


def _hears(world: World, app: App, happening: Happening) -> Install | None:
    """Through which installation this app hears of it; one at most."""
    if happening.app not in {None, app.id}:
        return None
    channel = world.channels.get(happening.channel or "")
    for install in world.installs_of(app.id):
        if happening.app is not None:
            if _covers(world, install, happening.team):
                return install
        elif channel is not None and install.user in channel.members:
            return install
    return None


def _covers(world: World, install: Install, team: str | None) -> bool:
    if team is None or install.team == team:
        return True
    return install.org and world.teams[team].enterprise == install.enterprise


def _for(
    world: World, app: App, install: Install, happening: Happening, mention_first: bool
) -> list[Delivered]:
    channel = world.channels.get(happening.channel or "")
    found: list[Delivered] = []
    kind = a_text(happening.event.get("type"))
    wanted = SUBSCRIPTIONS[channel.kind] if kind == "message" and channel is not None else kind
    if wanted in app.events:
        found.append(_sent(world, app, install, happening.event, happening.channel))
    if channel is not None and _mentioned(app, install, happening, channel):
        event = {k: v for k, v in happening.event.items() if k not in ONLY_MESSAGE}
        event.update(type="app_mention", **_from_outside(world, install, event))
        mention = _sent(world, app, install, event, happening.channel)
        found.insert(0 if mention_first else len(found), mention)
    return found


def _from_outside(world: World, install: Install, event: JsonObject) -> JsonObject:
    author, ours = world.users.get(a_text(event.get("user"))), world.users[install.user].team
    if author is None or author.bot is not None or same_company(world, author, ours):
        return {}
    theirs = author.enterprise or author.team
    profile: JsonObject = {
        "name": author.name,
        "display_name": author.name,
        "real_name": author.real_name,
        "team": theirs,
        "is_restricted": author.restricted,
        "is_ultra_restricted": author.ultra_restricted,
    }
    return {"team": ours, "user_team": theirs, "source_team": theirs, "user_profile": profile}


def _mentioned(app: App, install: Install, happening: Happening, channel: Channel) -> bool:
    return (
        install.user in happening.mentions
        and happening.event.get("user") != install.user
        and channel.kind != "im"
        and "app_mention" in app.events
    )


def _sent(
    world: World, app: App, install: Install, event: JsonObject, channel: str | None
) -> Delivered:
    payload = callback(world, app, install, event, channel)
    name = a_text(payload["event_id"])
    return Delivered(name, app.id, "event", a_text(event["type"]), payload)
