"""``conversations.*``: which there are, who is in them, and what was said.

Source: Slack docs "conversations.history", "conversations.replies" (the root comes first on every page),
"Pagination".
"""

from __future__ import annotations

from collections.abc import Sequence

from channels.slack.emulator.calling import Asking, Method
from channels.slack.emulator.limits import HISTORY_OBJECTS
from channels.slack.emulator.wire import Args, Refused
from channels.slack.emulator.world import tenancy
from channels.slack.emulator.world.depict import channel_json, message_json, with_replies
from channels.slack.emulator.world.state import Channel, ChannelKind, Message
from gateway.engine.kinds import Json, JsonObject

KINDS: dict[str, ChannelKind] = {
    "public_channel": "channel",
    "private_channel": "group",
    "im": "im",
    "mpim": "mpim",
}
PREFIXES: dict[ChannelKind, str] = {
    "channel": "channels",
    "group": "groups",
    "im": "im",
    "mpim": "mpim",
}
READ = ("channels:read", "groups:read", "im:read", "mpim:read")
HISTORY = ("channels:history", "groups:history", "im:history", "mpim:history")


def page(items: Sequence[Json], args: Args, most: int) -> tuple[list[Json], str]:
    """A page and the cursor of the next one, which is empty at the end."""
    limit = args.number("limit", most)
    if limit < 1:
        raise Refused("invalid_limit")
    cursor = args.text("cursor")
    if cursor and not (cursor.startswith("at:") and cursor[3:].isdigit()):
        raise Refused("invalid_cursor")
    start = int(cursor[3:]) if cursor else 0
    end = start + min(limit, most)
    return list(items[start:end]), f"at:{end}" if end < len(items) else ""


def may(asking: Asking, channel: Channel, verb: str) -> None:
    """Reading a kind of conversation takes that kind's scope."""
    scope = f"{PREFIXES[channel.kind]}:{verb}"
    if scope not in asking.install.scopes:
        provided = ",".join(asking.install.scopes)
        raise Refused("missing_scope", needed=scope, provided=provided)


def info(asking: Asking) -> JsonObject:
    channel = asking.channel()
    may(asking, channel, "read")
    return {"channel": channel_json(asking.world, channel, asking.me.id)}


def listed(asking: Asking) -> JsonObject:
    return _list(asking, {asking.workspace()}, None)


def of_user(asking: Asking) -> JsonObject:
    member = asking.args.text("user") or asking.me.id
    return _list(asking, {asking.workspace()}, member)


def _list(asking: Asking, teams: set[str], member: str | None) -> JsonObject:
    args, world, me = asking.args, asking.world, asking.me.id
    names = args.names("types") or ["public_channel"]
    if unknown := [name for name in names if name not in KINDS]:
        raise Refused("invalid_types").messages([f"[ERROR] unknown type: {unknown[0]}"])
    kinds = {KINDS[name] for name in names}
    found: list[Json] = [
        channel_json(world, channel, me)
        for channel in world.channels.values()
        if channel.kind in kinds
        and teams & {channel.team, *channel.shared}
        and (channel.kind == "channel" or me in channel.members)
        and (member is None or member in channel.members)
        and not (channel.archived and args.flag("exclude_archived"))
    ]
    items, cursor = page(found, args, 1000)
    return {"channels": items, "response_metadata": {"next_cursor": cursor}}


def _within(args: Args, messages: Sequence[Message]) -> list[Message]:
    oldest, latest = args.text("oldest") or "0", args.text("latest") or "9" * 10
    inclusive = args.flag("inclusive")

    def inside(ts: str) -> bool:
        if ts in {oldest, latest}:
            return inclusive
        return _moment(oldest) < _moment(ts) < _moment(latest)

    return [message for message in messages if inside(message.ts)]


def _moment(ts: str) -> tuple[int, int]:
    seconds, _, micros = ts.partition(".")
    try:
        return int(seconds), int(micros.ljust(6, "0") or 0)
    except ValueError:
        raise Refused("invalid_ts_latest") from None


def _readable(asking: Asking) -> Channel:
    channel = asking.channel()
    may(asking, channel, "history")
    if asking.me.id not in channel.members:
        raise Refused("not_in_channel")
    return channel


def _most(asking: Asking) -> int:
    return HISTORY_OBJECTS if asking.app.distributed else 999


def history(asking: Asking) -> JsonObject:
    """Newest first, without the replies inside threads."""
    world, args, channel = asking.world, asking.args, _readable(asking)
    metadata = args.flag("include_all_metadata")
    here = sorted(world.messages[channel.id].values(), key=lambda m: _moment(m.ts), reverse=True)
    on_top = [m for m in here if m.thread in {None, m.ts} or m.subtype == "thread_broadcast"]
    found: list[Json] = [
        with_replies(world, message, metadata=metadata) for message in _within(args, on_top)
    ]
    items, cursor = page(found, args, _most(asking))
    return {
        "messages": items,
        "has_more": bool(cursor),
        "pin_count": 0,
        "response_metadata": {"next_cursor": cursor},
    }


def replies(asking: Asking) -> JsonObject:
    """Oldest first; the root is on every page."""
    world, args, channel = asking.world, asking.args, _readable(asking)
    metadata = args.flag("include_all_metadata")
    asked = world.messages[channel.id].get(args.need("ts", "thread_not_found"))
    if asked is None:
        raise Refused("thread_not_found")
    root, *rest = world.in_thread(channel.id, asked.root)
    found: list[Json] = [
        message_json(world, message, metadata=metadata) for message in _within(args, rest)
    ]
    items, cursor = page(found, args, _most(asking))
    return {
        "messages": [with_replies(world, root, metadata=metadata), *items],
        "has_more": bool(cursor),
        "response_metadata": {"next_cursor": cursor},
    }


def members(asking: Asking) -> JsonObject:
    channel = asking.channel()
    may(asking, channel, "read")
    items, cursor = page(sorted(channel.members), asking.args, 1000)
    return {"members": items, "response_metadata": {"next_cursor": cursor}}


def opened(asking: Asking) -> JsonObject:
    world, args = asking.world, asking.args
    if args.text("channel"):
        channel = asking.channel()
        return {"channel": channel_json(world, channel, asking.me.id), "already_open": True}
    users = args.names("users")
    if not users:
        raise Refused("users_list_not_supplied")
    if unknown := [user for user in users if user not in world.users]:
        raise Refused("user_not_found").messages([f"[ERROR] {unknown[0]}"])
    before = len(world.channels)
    channel = tenancy.direct(world, world.teams[asking.team], {asking.me.id, *users})
    shown = channel_json(world, channel, asking.me.id) if args.flag("return_im") else None
    return {"channel": shown or {"id": channel.id}, "already_open": before == len(world.channels)}


def join(asking: Asking) -> JsonObject:
    channel = asking.channel()
    if channel.kind != "channel":
        raise Refused("method_not_supported_for_channel_type")
    if channel.archived:
        raise Refused("is_archived")
    channel.members.add(asking.me.id)
    return {"channel": channel_json(asking.world, channel, asking.me.id)}


METHODS = (
    Method(name="conversations.info", handler=info, scopes=READ),
    Method(name="conversations.list", handler=listed, scopes=READ, tier="2"),
    Method(name="conversations.history", handler=history, scopes=HISTORY),
    Method(name="conversations.replies", handler=replies, scopes=HISTORY),
    Method(name="conversations.members", handler=members, scopes=READ, tier="4"),
    Method(name="conversations.open", handler=opened, scopes=("im:write", "mpim:write")),
    Method(name="conversations.join", handler=join, scopes=("channels:join",)),
    Method(name="users.conversations", handler=of_user, scopes=READ),
)
