"""``reactions.*``: an emoji on a message, once per person."""

from __future__ import annotations

from channels.slack.emulator.calling import Asking, Method
from channels.slack.emulator.wire import Refused
from channels.slack.emulator.world.base import Happening
from channels.slack.emulator.world.depict import message_json
from channels.slack.emulator.world.state import Message
from gateway.engine.kinds import JsonObject


def _subject(asking: Asking) -> tuple[Message, str]:
    channel = asking.writable()
    ts = asking.args.need("timestamp", "no_item_specified")
    return asking.world.message(channel.id, ts), asking.args.text("name").strip(":")


def _told(asking: Asking, message: Message, kind: str, name: str) -> None:
    event: JsonObject = {
        "type": kind,
        "user": asking.me.id,
        "reaction": name,
        "item": {"type": "message", "channel": message.channel, "ts": message.ts},
        "item_user": message.user,
        "event_ts": asking.world.new_ts(),
    }
    asking.world.tell(Happening(event=event, channel=message.channel))


def add(asking: Asking) -> JsonObject:
    message, name = _subject(asking)
    if not name:
        raise Refused("invalid_name")
    users = message.reactions.setdefault(name, [])
    if asking.me.id in users:
        raise Refused("already_reacted")
    users.append(asking.me.id)
    _told(asking, message, "reaction_added", name)
    return {}


def remove(asking: Asking) -> JsonObject:
    message, name = _subject(asking)
    users = message.reactions.get(name, [])
    if asking.me.id not in users:
        raise Refused("no_reaction")
    users.remove(asking.me.id)
    if not users:
        del message.reactions[name]
    _told(asking, message, "reaction_removed", name)
    return {}


def get(asking: Asking) -> JsonObject:
    message, _ = _subject(asking)
    shown = message_json(asking.world, message)
    return {"type": "message", "channel": message.channel, "message": shown}


METHODS = (
    Method(name="reactions.add", handler=add, scopes=("reactions:write",)),
    Method(name="reactions.remove", handler=remove, scopes=("reactions:write",), tier="2"),
    Method(name="reactions.get", handler=get, scopes=("reactions:read",)),
)
