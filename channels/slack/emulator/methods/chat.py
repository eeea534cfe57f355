"""``chat.*``: messages that stand, change, go, or are seen by one person only.

Source: Slack docs "chat.postMessage", "chat.update", "chat.delete", "chat.postEphemeral",
"chat.getPermalink", "Message metadata".
"""

from __future__ import annotations

import json

from channels.slack.emulator.blocks.validate import MOST_BLOCKS, MOST_MARKDOWN, check
from channels.slack.emulator.calling import Asking, Method
from channels.slack.emulator.wire import Args, Refused, a_text
from channels.slack.emulator.world import posting
from channels.slack.emulator.world.base import World
from channels.slack.emulator.world.depict import message_json
from channels.slack.emulator.world.state import Channel, Message
from gateway.engine.kinds import JsonObject

LONGEST_TEXT = 40_000
LONGEST_UPDATE = 4_000
LARGEST_METADATA = 16_000


def content(world: World, args: Args, longest: int | None) -> tuple[str, list[JsonObject]]:
    """Text and blocks of a call. ``longest`` is where a text is refused rather than cut."""
    text, markdown = args.text("text"), args.text("markdown_text")
    blocks = args.items("blocks", "invalid_blocks_format")
    if markdown:
        if text or blocks:
            raise Refused("markdown_text_conflict")
        if len(markdown) > MOST_MARKDOWN:
            raise Refused("msg_too_long")
        block: JsonObject = {"type": "markdown", "text": markdown}
        blocks, text = [block], markdown
    if longest is not None and len(text) > longest and not markdown:
        raise Refused("msg_too_long")
    if blocks:
        refuse_blocks(blocks)
    if not text and not blocks and not args.items("attachments", "invalid_attachments"):
        raise Refused("no_text")
    return text[:LONGEST_TEXT], posting.named_blocks(world, blocks or [])


def refuse_blocks(blocks: list[JsonObject]) -> None:
    if len(blocks) > MOST_BLOCKS:
        raise Refused("msg_blocks_too_many").messages(check(blocks, "message"))
    if told := check(blocks, "message"):
        raise Refused("invalid_blocks").messages(told)


def metadata_of(args: Args) -> JsonObject | None:
    metadata = args.object("metadata", "invalid_metadata_format")
    if metadata is None:
        return None
    if not a_text(metadata.get("event_type")) or not isinstance(
        metadata.get("event_payload"), dict
    ):
        raise Refused("invalid_metadata_format")
    if len(json.dumps(metadata)) > LARGEST_METADATA:
        raise Refused("metadata_too_large")
    return metadata


def drafted(asking: Asking, channel: Channel) -> Message:
    """A new message by this app, not yet in its channel."""
    install, args = asking.install, asking.args
    named = "chat:write.customize" in install.scopes
    return Message(
        channel.id,
        asking.world.new_ts(),
        install.user,
        asking.me.team,
        bot=install.bot,
        app=install.app,
        username=(args.text("username") or None) if named else None,
        thread=thread_of(asking, channel),
    )


def thread_of(asking: Asking, channel: Channel) -> str | None:
    given = asking.args.text("thread_ts")
    if not given:
        return None
    root = asking.world.messages[channel.id].get(given)
    if root is None:
        raise Refused("cannot_reply_to_message")
    return root.root


def post(asking: Asking) -> JsonObject:
    channel, args, world = asking.writable(), asking.args, asking.world
    text, blocks = content(world, args, None)
    metadata = metadata_of(args)
    message = drafted(asking, channel)
    message.text, message.blocks, message.metadata = text, blocks, metadata
    message.attachments = args.items("attachments", "invalid_attachments") or []
    message.parse = "full" if args.flag("link_names") else args.text("parse")
    message.unfurls = args.flag("unfurl_links", True) or args.flag("unfurl_media", True)
    message.client_msg_id = args.text("client_msg_id") or None
    if message.thread and args.flag("reply_broadcast"):
        message.subtype = "thread_broadcast"
    posting.publish(world, message)
    shown = message_json(world, message, metadata=True)
    body: JsonObject = {"channel": channel.id, "ts": message.ts, "message": shown}
    if len(args.text("text")) > LONGEST_TEXT:
        body["response_metadata"] = {"messages": ["[WARN] text was truncated"]}
    return body


def update(asking: Asking) -> JsonObject:
    world, args = asking.world, asking.args
    channel = asking.writable()
    message = asking.own(channel, "cant_update_message")
    stream = message.stream
    if stream is not None and stream.state == "in_progress":
        raise Refused("streaming_state_conflict")
    text, blocks = content(world, args, LONGEST_UPDATE)
    metadata = metadata_of(args)
    before = message_json(world, message)
    replace_content(message, text, blocks)
    attachments = args.items("attachments", "invalid_attachments")
    message.attachments = message.attachments if attachments is None else attachments
    message.metadata = message.metadata if metadata is None else metadata
    message.parse = "full" if args.flag("link_names") else args.text("parse") or "client"
    message.unfurls = False
    if not blocks:
        message.edited = (message.user, world.new_ts())
    posting.notify(world, message)
    posting.changed(world, message, before)
    shown = message_json(world, message, metadata=True)
    return {"channel": channel.id, "ts": message.ts, "text": text, "message": shown}


def replace_content(message: Message, text: str, blocks: list[JsonObject]) -> None:
    """Text without blocks takes the blocks away, and either takes the place of what was streamed."""
    message.text, message.blocks = text, blocks
    message.rewritten = True
    if message.stream is not None and message.stream.state == "errored":
        message.stream.state = "completed"


def delete(asking: Asking) -> JsonObject:
    channel = asking.writable()
    message = asking.own(channel, "cant_delete_message")
    posting.remove(asking.world, message)
    return {"channel": channel.id, "ts": message.ts}


def ephemeral(asking: Asking) -> JsonObject:
    """Seen by one person, kept by nobody: it can't be read back or updated."""
    channel, args, world = asking.writable(), asking.args, asking.world
    user = args.need("user", "user_not_found")
    if user not in channel.members:
        raise Refused("user_not_in_channel")
    text, blocks = content(world, args, None)
    message = drafted(asking, channel)
    message.text, message.blocks, message.only_for = text, blocks, user
    message.parse = "full" if args.flag("link_names") else args.text("parse")
    posting.whisper(world, message)
    return {"message_ts": message.ts}


def permalink(asking: Asking) -> JsonObject:
    channel = asking.channel()
    ts = asking.args.need("message_ts", "message_not_found")
    message = asking.world.message(channel.id, ts)
    url = f"{asking.world.base_url}/archives/{channel.id}/p{ts.replace('.', '')}"
    if message.thread:
        url += f"?thread_ts={message.thread}&cid={channel.id}"
    return {"channel": channel.id, "permalink": url}


WRITE = ("chat:write",)
METHODS = (
    Method(name="chat.postMessage", handler=post, scopes=WRITE, tier="post"),
    Method(name="chat.update", handler=update, scopes=WRITE, tier="3"),
    Method(name="chat.delete", handler=delete, scopes=WRITE, tier="3"),
    Method(name="chat.postEphemeral", handler=ephemeral, scopes=WRITE, tier="4"),
    Method(name="chat.getPermalink", handler=permalink, tier="free"),
)
