"""``chat.startStream``, ``appendStream``, ``stopStream``. The rules are in ``world/streaming.py``."""

from __future__ import annotations

from channels.slack.emulator.calling import Asking, Method
from channels.slack.emulator.methods.chat import drafted, metadata_of, refuse_blocks
from channels.slack.emulator.wire import Refused
from channels.slack.emulator.world import posting, streaming
from channels.slack.emulator.world.base import STREAM_LIFE
from channels.slack.emulator.world.depict import message_json
from channels.slack.emulator.world.state import AgentSession, Stream
from gateway.engine.kinds import JsonObject

DISPLAYS = frozenset({"timeline", "plan", "dense"})


def start(asking: Asking) -> JsonObject:
    """Empty or with a first text. In a channel it says for whom, so that they see it being written."""
    world, args, channel = asking.world, asking.args, asking.writable()
    if not channel.direct:
        for name in ("recipient_team_id", "recipient_user_id"):
            if not args.text(name):
                raise Refused(f"missing_{name}")
    recipient = args.text("recipient_user_id")
    if recipient and recipient not in world.users:
        raise Refused("user_not_found")
    if channel.direct and not args.text("thread_ts"):
        raise Refused("invalid_arguments").messages(["[ERROR] missing required field: thread_ts"])
    display = args.text("task_display_mode") or "timeline"
    if display not in DISPLAYS:
        raise Refused("invalid_arguments").messages(["[ERROR] unknown task_display_mode"])
    streaming.chunks_of(args)  # nothing is posted if what it brings is wrong
    message = drafted(asking, channel)
    now = world.monotonic()
    message.stream = Stream(now, now + STREAM_LIFE, display)
    streaming.feed(world, message, message.stream, args)
    posting.publish(world, message)
    world.streaming.append(message)
    return {"channel": channel.id, "ts": message.ts}


def append(asking: Asking) -> JsonObject:
    channel = asking.writable()
    message = asking.own(channel, "message_not_owned_by_app")
    stream = streaming.live(message)
    if not streaming.feed(asking.world, message, stream, asking.args):
        raise Refused("no_text")
    return {"channel": channel.id, "ts": message.ts}


def stop(asking: Asking) -> JsonObject:
    """With a last text, blocks below it, metadata, and where the session goes (``active`` unless told).

    An agent's stream has a session from then on, if it had none.
    """
    world, args, channel = asking.world, asking.args, asking.writable()
    message = asking.own(channel, "message_not_owned_by_app")
    stream = streaming.live(message)
    blocks = args.items("blocks", "invalid_blocks_format") or []
    refuse_blocks(blocks)
    metadata = metadata_of(args)
    status = args.text("session_status") or "active"
    if status not in streaming.SESSION_STATUSES:
        raise Refused("invalid_arguments").messages(["[ERROR] unknown session_status"])
    streaming.feed(world, message, stream, args)
    message.blocks = posting.named_blocks(world, blocks)
    message.metadata = metadata
    posting.notify(world, message)
    if asking.app.agent:
        where = (asking.app.id, channel.id, message.root)
        world.sessions.setdefault(where, AgentSession(*where, "active"))
        streaming.set_session(world, asking.app.id, (channel.id, message.root), status)
    streaming.end(world, message, stream)
    shown = message_json(world, message, metadata=True)
    return {"channel": channel.id, "ts": message.ts, "message": shown}


WRITE = ("chat:write",)
METHODS = (
    Method(name="chat.startStream", handler=start, scopes=WRITE, tier="2"),
    Method(name="chat.appendStream", handler=append, scopes=WRITE, tier="4"),
    Method(name="chat.stopStream", handler=stop, scopes=WRITE, tier="2"),
)
