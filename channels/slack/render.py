"""What a reader is shown, as arguments of Slack's methods: chunks of a stream, blocks of a message, the
text beside them.

Formats ("chat.appendStream", "Task card block" and "Markdown block" in Slack's docs, and
``slack_sdk/models/messages/chunk.py``): a chunk is ``markdown_text`` or ``task_update``; what was sent as
chunks is drawn again in a rewritten message as ``task_card`` and ``markdown`` blocks. Model text goes out
through the guard only; titles are plain text. Pure, like all that decides what people see.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from channels.slack.words import mrkdwn, richtext
from channels.slack.words.doc import Task
from channels.slack.words.guard import feed
from channels.slack.words.guardstate import JOINER, Guard
from channels.slack.words.markdown import MOST_MARKDOWN
from channels.slack.words.split import Slice, units
from gateway.engine.kinds import JsonObject

MOST_CARDS = 24
"""Tasks in one message: with the words between them they stay within Slack's 50 blocks."""
MOST_ALONE = 39_000
"""A post's text is cut above 40,000 characters."""
EMPTY = "…"
"""Shown where there is nothing to show yet; a message without text is refused."""


# -- a stream ----------------------------------------------------------------------------------------
def to_append(  # noqa: PLR0913 - how far it was sent, and how it ends
    text: str,
    part: Slice,
    acked: int | None,
    *,
    last: bool,
    note: str = "",
    whole: int = 0,
    flush: bool = False,
) -> str:
    """What a live part still needs to show ``part``, guarded; ``acked`` is ``None`` if nothing was sent.

    ``last`` closes what is open and adds a line of our own (Markdown, trusted). ``flush``: a message of
    the model's ends here, so that nothing needs to be held back; ``whole`` is where one last ended so.
    """
    state, shown = Guard(), ""
    if acked is not None:
        ended = min(whole, acked) if whole > part.start else part.start
        state, shown = feed(state, part.opening + text[part.start : ended], whole > part.start)
        state, further = feed(state, text[ended:acked])
        shown += further
        rest = text[acked : part.end]
    else:
        rest = part.opening + text[part.start : part.end]
    more = feed(state, rest + (part.closing if last else ""), last or flush)[1]
    return more + _note(shown + more, note) if last else more


def stream_chunks(  # noqa: PLR0913 - how far it was sent, and how it ends
    text: str,
    part: Slice,
    acked: int | None,
    tasks: Sequence[Task],
    *,
    sent: Collection[str] = (),
    stale: Collection[str] = (),
    whole: int = 0,
    flush: bool = False,
    last: bool = False,
    note: str = "",
) -> list[JsonObject]:
    """What a live part still needs, each task behind the words that it was asked for behind. ``sent``
    are the ids of tasks that stand there, ``stale`` those whose line has changed."""
    edges = {task.at for task in tasks}
    made: list[JsonObject] = []
    for task in tasks:
        if task.id in sent and task.id not in stale:
            continue
        if task.id not in sent and (part.start if acked is None else acked) < task.at <= part.end:
            before = Slice(part.start, task.at, part.opening)
            words = to_append(text, before, acked, last=False, whole=whole, flush=True)
            made += text_chunks(_below(words, acked, edges))
            acked = whole = task.at
        made += task_chunks([task])
    words = to_append(text, part, acked, last=last, note=note, whole=whole, flush=flush)
    return made + text_chunks(_below(words, acked, edges))


def _below(words: str, at: int | None, edges: Collection[int]) -> str:
    """Words under what was sent up to ``at``: no blank line parts them from a task, and none that parts them
    from other words stands where Slack may drop it."""
    if at in edges:
        return words.lstrip("\n")
    joins = at is not None and words[:1].isspace()
    return JOINER + words if joins and words.strip() else "" if joins else words


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
    """A part as a whole message: what was said and what happened, in the order of the stream, and our
    own line."""
    blocks: list[JsonObject] = []
    state, at, words = Guard(), part.start, part.opening
    shown = ""
    for task in list(tasks)[-MOST_CARDS:]:
        edge = min(max(task.at, at), part.end)
        if edge > at:
            state, said = feed(state, words + text[at:edge], True)
            blocks += _markdown(said)
            shown += said
            at, words = edge, ""
        blocks.append(task_card(task))
    end = part.closing if part.end > part.start else ""
    said = feed(state, words + text[at : part.end] + end, True)[1]
    blocks += _markdown(said + _note(shown + said, note))
    return blocks or [{"type": "markdown", "text": EMPTY}]


def _markdown(said: str) -> list[JsonObject]:
    return [{"type": "markdown", "text": said.lstrip("\n")}] if said.strip() else []


def task_card(task: Task) -> JsonObject:
    return {"type": "task_card", "task_id": task.id, "title": task.line, "status": task.state}


def plain_blocks(text: str, part: Slice, note: str = "") -> list[JsonObject]:
    """The same words where Markdown or cards were refused: rich text, which nothing parses."""
    blocks = richtext.blocks(part.of(text)) if part.end > part.start else []
    if note or not blocks:
        blocks.append(richtext.plain_block(note or EMPTY))
    return blocks


def notice(text: str, part: Slice, note: str = "", most: int = mrkdwn.MOST_TEXT) -> str:
    """The ``text`` beside blocks: for notifications, search and old clients. Where it stands alone it
    may be ``MOST_ALONE`` long, which no part is."""
    said = mrkdwn.fallback(text[part.start : part.end], most - len(note) - 2)
    return (said + _note(said, note)) or EMPTY
