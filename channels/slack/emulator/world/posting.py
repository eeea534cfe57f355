"""Messages that come, change and go, each with what the world is told about it.

Source: Slack docs "message event" (subtypes ``message_changed``, ``message_deleted``, ``file_share``,
``thread_broadcast``), "app_mention event".
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy

from channels.slack.emulator.blocks.render import shown_blocks, shown_text
from channels.slack.emulator.blocks.text import PARSED, USER, bare, in_blocks, links, mentions
from channels.slack.emulator.journal import Ping, Unfurled
from channels.slack.emulator.wire import a_text, an_object, objects
from channels.slack.emulator.world.base import Happening, World
from channels.slack.emulator.world.depict import message_json, with_replies
from channels.slack.emulator.world.state import Channel, Message
from gateway.engine.kinds import JsonObject

SLACKBOT = "USLACKBOT"
"""Whose a message is that was deleted and stands there all the same."""


def named_blocks(world: World, blocks: Iterable[JsonObject]) -> list[JsonObject]:
    """A copy in which every block and every control has its id, as Slack hands them out."""
    made: list[JsonObject] = []
    for block in deepcopy(list(blocks)):
        if block.get("type") == "markdown" or not a_text(block.get("block_id")):
            block["block_id"] = world.new_id("b")
        controls = [*objects(block.get("elements")), an_object(block.get("accessory"))]
        for control in controls:
            interactive = block.get("type") in {"actions", "section", "context_actions"}
            if interactive and control and not a_text(control.get("action_id")):
                control["action_id"] = world.new_id("a")
        made.append(block)
    return made


def publish(world: World, message: Message) -> Message:
    """Put a new message into its channel."""
    channel = world.channels[message.channel]
    world.messages[message.channel][message.ts] = message
    world.statuses.pop((message.channel, message.root), None)
    notify(world, message)
    event = {**message_json(world, message), **_where(world, channel, message)}
    root = world.messages[channel.id].get(message.root)
    if message.subtype == "thread_broadcast" and root is not None:
        event.pop("parent_user_id", None)
        event["root"] = with_replies(world, root)
    world.tell(
        Happening(
            event=event,
            channel=channel.id,
            mentions=_mentioned(message),
        )
    )
    return message


def whisper(world: World, message: Message) -> None:
    """Show a message to one person (``only_for``); no channel keeps it."""
    world.ephemerals.append(message)
    notify(world, message)


def _where(world: World, channel: Channel, message: Message) -> JsonObject:
    where: JsonObject = {
        "channel": channel.id,
        "channel_type": channel.kind,
        "event_ts": message.ts,
    }
    if message.bot and message.bot in {install.bot for install in world.installs}:
        where["bot_profile"] = {
            "id": message.bot,
            "app_id": message.app,
            "name": world.users[message.user].name,
            "deleted": False,
            "team_id": message.team,
        }
    return where


def _mentioned(message: Message) -> frozenset[str]:
    found = [*mentions(shown_text(message)), *in_blocks(shown_blocks(message))]
    return frozenset(name for kind, name in found if kind == "user")


def notify(world: World, message: Message) -> None:
    """Write down whom an app's message disturbs, and what Slack would fetch for it.

    What people do to each other is their own affair.
    """
    if message.bot is None:
        return
    text, blocks = shown_text(message), shown_blocks(message)
    found = [*mentions(text), *in_blocks(blocks), *in_blocks(message.attachments)]
    if message.stream is not None and not message.rewritten:
        for task in message.stream.tasks.values():
            found += [*mentions(task.title), *mentions(task.details), *mentions(task.output)]
    if message.parse in PARSED:
        found += bare(text, world.names(message.team))
    for kind, name in found:
        if name != message.user:
            world.journal.ping(Ping(kind, name, message.channel, message.ts, message.bot))
    if message.unfurls:
        for url in links(text, blocks):
            world.journal.unfurl(Unfurled(url, message.channel, message.ts, message.bot))


def changed(world: World, message: Message, before: JsonObject) -> None:
    """Tell of an edit. ``before`` is how the message was shown until then."""
    channel = world.channels[message.channel]
    ts = world.new_ts()
    event: JsonObject = {
        "type": "message",
        "subtype": "message_changed",
        "hidden": True,
        "message": {**message_json(world, message), "source_team": message.team},
        "previous_message": before,
        "channel": channel.id,
        "channel_type": channel.kind,
        "ts": ts,
        "event_ts": ts,
    }
    world.tell(Happening(event=event, channel=channel.id))


def edit(world: World, message: Message, text: str, by: str) -> None:
    """A person rewrites their own message."""
    before = message_json(world, message)
    message.text, message.edited = text, (by, world.new_ts())
    message.blocks = named_blocks(world, [written(text)])
    notify(world, message)
    changed(world, message, before)


def unfurl(world: World, message: Message, attachments: list[JsonObject]) -> None:
    """Slack adds a preview: a change that nobody made."""
    before = message_json(world, message)
    message.attachments = attachments
    changed(world, message, before)


def remove(world: World, message: Message) -> None:
    """A root that was answered stays as a tombstone, and its thread goes on."""
    channel = world.channels[message.channel]
    if any(reply is not message for reply in world.in_thread(message.channel, message.ts)):
        _bury(world, message)
        return
    del world.messages[message.channel][message.ts]
    if message in world.streaming:
        world.streaming.remove(message)
    ts = world.new_ts()
    event: JsonObject = {
        "type": "message",
        "subtype": "message_deleted",
        "hidden": True,
        "deleted_ts": message.ts,
        "previous_message": message_json(world, message),
        "channel": channel.id,
        "channel_type": channel.kind,
        "ts": ts,
        "event_ts": ts,
    }
    world.tell(Happening(event=event, channel=channel.id))


def _bury(world: World, message: Message) -> None:
    before = message_json(world, message)
    message.subtype, message.user, message.text = "tombstone", SLACKBOT, "This message was deleted."
    message.thread = message.ts
    message.blocks, message.files, message.attachments = [], [], []
    message.bot = message.app = message.client_msg_id = message.edited = None
    changed(world, message, before)


def written(text: str) -> JsonObject:
    """What a person typed, as the rich text that Slack makes of it: mentions are elements."""
    elements: list[JsonObject] = []
    rest = text
    while found := USER.search(rest):
        if found.start():
            elements.append({"type": "text", "text": rest[: found.start()]})
        elements.append({"type": "user", "user_id": found[1]})
        rest = rest[found.end() :]
    if rest:
        elements.append({"type": "text", "text": rest})
    section: JsonObject = {"type": "rich_text_section", "elements": [*elements]}
    return {"type": "rich_text", "elements": [section]}
