"""What a reader is shown, as arguments of Slack's methods: chunks of a stream, blocks of a message, the
text beside them.

Formats ("chat.appendStream", "Task card block" and "Markdown block" in Slack's docs, and
``slack_sdk/models/messages/chunk.py``): a chunk is ``markdown_text`` or ``task_update``; what was sent as
chunks is drawn again in a rewritten message as ``task_card`` and ``markdown`` blocks. Model text goes out
through the guard only; titles are plain text. Pure, like all that decides what people see.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from channels.slack.words import mrkdwn, richtext
from channels.slack.words.doc import Task
from channels.slack.words.guard import feed, guarded
from channels.slack.words.guardstate import Guard
from channels.slack.words.markdown import MOST_MARKDOWN
from channels.slack.words.split import Slice, cut, is_file, next_part, units
from gateway.engine.kinds import JsonObject

MOST_BLOCKS = 50
EMPTY = "…"
"""Shown where there is nothing to show yet; a message without text is refused."""


# -- a stream ----------------------------------------------------------------------------------------
def to_append(text: str, part: Slice, acked: int | None, *, last: bool, note: str = "") -> str:
    """What a live part still needs to show ``part``, guarded; ``acked`` is ``None`` if nothing was sent.
    ``last`` closes what is open and adds a line of our own (Markdown, trusted)."""
    state, shown = Guard(), ""
    if acked is not None:
        state, shown = feed(state, part.opening + text[part.start : acked])
        rest = text[acked : part.end]
    else:
        rest = part.opening + text[part.start : part.end]
    more = feed(state, rest + (part.closing if last else ""), last)[1]
    return more + _note(shown + more, note) if last else more


def _note(before: str, note: str) -> str:
    if not note:
        return ""
    return f"\n\n{note}" if before.strip() else note


def text_chunks(markdown: str) -> list[JsonObject]:
    """Guarded Markdown as chunks, each within Slack's limit."""
    return [{"type": "markdown_text", "text": piece} for piece in _pieces(markdown)]


def _pieces(markdown: str) -> Iterable[str]:
    """Chunks are joined by Slack, which may drop space where they meet: none begins with it."""
    while units(markdown) > MOST_MARKDOWN:
        at = MOST_MARKDOWN // 2
        at = max((found.start() for found in re.finditer(r"(?<=\s)\S", markdown[:at])), default=at)
        yield markdown[:at]
        markdown = markdown[at:]
    if markdown:
        yield markdown


def task_chunks(tasks: Iterable[Task]) -> list[JsonObject]:
    """Lines of the timeline. A known id's title and status are replaced; details would pile up."""
    return [
        {"type": "task_update", "id": task.id, "title": task.line, "status": task.state}
        for task in tasks
    ]


# -- a message ---------------------------------------------------------------------------------------
def message_blocks(
    text: str, part: Slice, tasks: Sequence[Task], note: str = ""
) -> list[JsonObject]:
    """A part as a whole message: what happened, what was said, and our own line."""
    said = guarded(part.of(text)) if part.end > part.start else ""
    said += _note(said, note)
    body: list[JsonObject] = [{"type": "markdown", "text": said}] if said.strip() else []
    shown = list(tasks)[-(MOST_BLOCKS - 1) :]
    cards = [task_card(task) for task in shown]
    return [*cards, *body] or [{"type": "markdown", "text": EMPTY}]


def task_card(task: Task) -> JsonObject:
    return {"type": "task_card", "task_id": task.id, "title": task.line, "status": task.state}


def plain_blocks(text: str, part: Slice, note: str = "") -> list[JsonObject]:
    """The same words where Markdown or cards were refused: rich text, which nothing parses."""
    blocks = richtext.blocks(part.of(text)) if part.end > part.start else []
    if note or not blocks:
        blocks.append(richtext.plain_block(note or EMPTY))
    return blocks


def notice(text: str, part: Slice, note: str = "") -> str:
    """The ``text`` beside blocks: for notifications, search and old clients."""
    said = mrkdwn.fallback(text[part.start : part.end], mrkdwn.MOST_TEXT - len(note) - 2)
    return (said + _note(said, note)) or EMPTY


# -- any length --------------------------------------------------------------------------------------
def layout(text: str) -> tuple[tuple[Slice, ...], bool]:
    """The parts of a finished answer, and whether the whole of it goes along as a file instead of
    further parts."""
    if not is_file(text):
        return cut(text), False
    return (next_part(text, 0),), True
