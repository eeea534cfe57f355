"""What a person sees of a message: its blocks, and its words as one text.

A streamed message is shown as its pieces stand: text, then a task's card where the task was first named,
then text again. An update replaces all of that.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from channels.slack.emulator.blocks.text import ids_in
from channels.slack.emulator.wire import a_list, a_text, an_object, objects
from channels.slack.emulator.world.state import Message, Stream, Task
from gateway.engine.kinds import Json, JsonObject


@dataclass(slots=True)
class Button:
    label: str
    action_id: str
    block_id: str
    value: str
    url: str = ""


@dataclass(slots=True)
class Shown:
    """A message on the screen of somebody in the thread."""

    channel: str
    ts: str
    author: str
    text: str
    blocks: list[JsonObject]
    tasks: list[Task] = field(default_factory=list[Task])
    buttons: list[Button] = field(default_factory=list[Button])
    streaming: str | None = None
    broken: bool = False
    """The stream expired: people see that something went wrong instead of an answer."""
    edited: bool = False
    metadata: JsonObject | None = None


def streamed_text(stream: Stream) -> str:
    return "".join(piece.text for piece in stream.pieces if piece.kind == "text")


def _task_block(task: Task) -> JsonObject:
    block: JsonObject = {"type": "task_card", "task_id": task.id, "title": task.title}
    block["status"] = task.status
    for name, value in (("details", task.details), ("output", task.output)):
        if value:
            block[name] = _rich(value)
    if task.sources:
        block["sources"] = list(task.sources)
    return block


def _rich(text: str) -> JsonObject:
    section: JsonObject = {
        "type": "rich_text_section",
        "elements": [{"type": "text", "text": text}],
    }
    return {"type": "rich_text", "elements": [section]}


def stream_blocks(stream: Stream) -> list[JsonObject]:
    """Neighbouring text is one block; what was sent as blocks stands last."""
    found: list[JsonObject] = []
    last: list[JsonObject] = []
    text = ""
    for piece in stream.pieces:
        if piece.kind == "text":
            text += piece.text
            continue
        if piece.kind == "blocks":
            last += piece.blocks
            continue
        if text.strip():
            found.append({"type": "markdown", "text": text})
        text = ""
        found.append(_task_block(stream.tasks[piece.task]))
    if text.strip():
        found.append({"type": "markdown", "text": text})
    if stream.plan:
        found.insert(0, {"type": "plan", "title": stream.plan, "tasks": []})
    return [*found, *last]


def shown_blocks(message: Message) -> list[JsonObject]:
    if message.stream is not None and not message.rewritten:
        return [*stream_blocks(message.stream), *message.blocks]
    return message.blocks


def shown_text(message: Message) -> str:
    """The ``text`` field: the fallback where there are blocks."""
    if message.stream is not None and not message.rewritten:
        return streamed_text(message.stream)
    return message.text


def visible(message: Message) -> str:
    """The words on the screen: the blocks' where there are any, else the text."""
    blocks = shown_blocks(message)
    if not blocks:
        return shown_text(message)
    return "\n".join(words for words in (block_words(block) for block in blocks) if words)


def block_words(node: Json) -> str:  # noqa: C901, PLR0911, PLR0912 - one line for each kind of block
    if isinstance(node, list):
        return "\n".join(words for words in (block_words(item) for item in node) if words)
    if not isinstance(node, dict):
        return ""
    match a_text(node.get("type")):
        case "markdown" | "mrkdwn" | "plain_text" | "text":
            return a_text(node.get("text"))
        case "rich_text_section" | "rich_text_preformatted" | "rich_text_quote":
            return "".join(block_words(item) for item in a_list(node.get("elements")))
        case "user":
            return f"<@{a_text(node.get('user_id'))}>"
        case "usergroup":
            return f"<!subteam^{a_text(node.get('usergroup_id'))}>"
        case "broadcast":
            return f"<!{a_text(node.get('range'))}>"
        case "emoji":
            return f":{a_text(node.get('name'))}:"
        case "link":
            return a_text(node.get("text")) or a_text(node.get("url"))
        case "date":
            return a_text(node.get("fallback"))
        case "image":
            return a_text(node.get("alt_text"))
        case "task_card":
            return f"[{a_text(node.get('status'))}] {a_text(node.get('title'))}"
        case "plan":
            return "\n".join(
                words
                for words in (a_text(node.get("title")), block_words(node.get("tasks")))
                if words
            )
        case "button":
            return f"[{a_text(an_object(node.get('text')).get('text'))}]"
        case _:
            parts = (node.get(name) for name in ("text", "fields", "elements", "rows", "accessory"))
            return "\n".join(words for words in (block_words(part) for part in parts) if words)


def buttons_of(message: Message) -> list[Button]:
    return [
        Button(
            a_text(an_object(element.get("text")).get("text")),
            a_text(element.get("action_id")),
            a_text(block.get("block_id")),
            a_text(element.get("value")),
            a_text(element.get("url")),
        )
        for block in shown_blocks(message)
        for element in ids_in([block], frozenset({"button"}))
    ]


def tasks_of(message: Message) -> list[Task]:
    if message.stream is not None and not message.rewritten:
        return list(message.stream.tasks.values())
    cards = ids_in(list(shown_blocks(message)), frozenset({"task_card"}))
    return [
        Task(
            a_text(card.get("task_id")),
            a_text(card.get("title")),
            a_text(card.get("status")),
            block_words(card.get("details")),
            block_words(card.get("output")),
            objects(card.get("sources")),
        )
        for card in cards
    ]


def shown(message: Message, author: str) -> Shown:
    stream = message.stream
    return Shown(
        message.channel,
        message.ts,
        author,
        visible(message),
        list(shown_blocks(message)),
        tasks_of(message),
        buttons_of(message),
        stream.state if stream else None,
        stream is not None and stream.expired and not message.rewritten,
        message.edited is not None,
        message.metadata,
    )
