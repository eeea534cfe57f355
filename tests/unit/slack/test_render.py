"""Arguments of Slack's methods for a part of an answer."""

from __future__ import annotations

import random

import pytest

from channels.slack.render import (
    message_blocks,
    notice,
    plain_blocks,
    stream_chunks,
    task_chunks,
    text_chunks,
    to_append,
)
from channels.slack.words.doc import Task
from channels.slack.words.guard import guarded
from channels.slack.words.split import Slice, cut, units
from tests.unit.slack.words.oracle import live, mentioning
from tests.unit.slack.words.sixteen import SIXTEEN

NOTE = "_superseded by a newer message_"
DONE = Task("c1", "Looking up order 1042", "complete", 0)
FAILED = Task("c2", "Looking up order 1043", "error", 0)


@pytest.mark.parametrize("name", SIXTEEN)
def test_appends_add_up_to_the_guarded_part(name: str) -> None:
    text, draw = SIXTEEN[name], random.Random(name)  # noqa: S311 - where to cut, not a secret
    for part in cut(text):
        said, acked, end = "", None, part.start
        while end < part.end:
            end = min(part.end, end + draw.randint(1, 900))
            said += to_append(text, Slice(part.start, end, part.opening), acked, last=False)
            acked = end
        said += to_append(text, part, acked, last=True)
        assert said == guarded(part.of(text))


def test_a_part_opens_and_closes_what_goes_on() -> None:
    text = "```py\nx = 1\ny = 2\n```\n"
    part = Slice(12, 18, "```py\n", "```")
    assert to_append(text, part, None, last=True) == "```py\ny = 2\n```"
    assert to_append(text, part, 12, last=True, note=NOTE) == f"y = 2\n```\n\n{NOTE}"


def test_our_line_stands_below_what_was_said_or_alone() -> None:
    assert to_append("Half a", Slice(0, 6), 3, last=True, note=NOTE) == f"f a\n\n{NOTE}"
    assert to_append("Half a", Slice(0, 6), 6, last=True, note=NOTE) == f"\n\n{NOTE}"
    assert to_append("", Slice(0, 0), None, last=True, note=NOTE) == NOTE
    assert to_append("Half a", Slice(0, 6), 3, last=False, note=NOTE) == "f a"


def test_a_chunk_holds_what_slack_takes_and_begins_with_a_word() -> None:
    assert text_chunks("") == []
    assert text_chunks("hello") == [{"type": "markdown_text", "text": "hello"}]
    long = "words and 😀 " * 3_000
    pieces = [str(chunk["text"]) for chunk in text_chunks(long)]
    assert "".join(pieces) == long
    assert all(units(piece) <= 12_000 and not piece[0].isspace() for piece in pieces)
    assert "".join(str(c["text"]) for c in text_chunks("x" * 30_000)) == "x" * 30_000


def test_tasks_are_lines_of_the_timeline_and_cards_of_a_message() -> None:
    assert task_chunks([DONE, FAILED])[1] == {
        "type": "task_update",
        "id": "c2",
        "title": "Looking up order 1043",
        "status": "error",
    }
    blocks = message_blocks("Sent <!here>", Slice(0, 12), [DONE, FAILED], NOTE)
    assert [block["type"] for block in blocks] == ["task_card", "task_card", "markdown"]
    assert blocks[0] == {
        "type": "task_card",
        "task_id": "c1",
        "title": "Looking up order 1042",
        "status": "complete",
    }
    assert not live(str(blocks[2]["text"]))
    assert str(blocks[2]["text"]).endswith(f"\n\n{NOTE}")


def test_a_message_is_never_empty_and_never_of_too_many_blocks() -> None:
    assert message_blocks("", Slice(0, 0), []) == [{"type": "markdown", "text": "…"}]
    assert message_blocks("", Slice(0, 0), [], NOTE) == [{"type": "markdown", "text": NOTE}]
    assert message_blocks("", Slice(0, 0), [DONE])[0]["type"] == "task_card"
    many = [Task(str(at), "Looking", "complete", at) for at in range(80)]
    assert len(message_blocks("Hi" * 80, Slice(0, 160), many)) <= 50
    assert plain_blocks("", Slice(0, 0)) != []
    assert notice("", Slice(0, 0)) == "…"


def test_refused_markdown_is_said_in_rich_text() -> None:
    text = "Tell **all** <!channel>"
    blocks = plain_blocks(text, Slice(0, len(text)), NOTE)
    assert [block["type"] for block in blocks] == ["rich_text", "rich_text"]
    assert not mentioning(blocks)
    assert NOTE in str(blocks[1])
    assert notice(text, Slice(0, len(text)), NOTE) == f"Tell *all* &lt;!channel&gt;\n\n{NOTE}"
    assert len(notice("a & b " * 2_000, Slice(0, 12_000), NOTE)) <= 4_000


def test_words_and_tasks_are_streamed_in_the_order_of_the_turn() -> None:
    text = "Let me look!\n\nIt is <!here>."
    task = Task("c1", "Looking up order 1042", "complete", 12)
    part = Slice(0, len(text))
    chunks = stream_chunks(text, part, None, [task], last=True, note=NOTE)
    assert [chunk.get("text", chunk.get("title")) for chunk in chunks] == [
        "Let me look!",
        "Looking up order 1042",
        f"{guarded('It is <!here>.')}\n\n{NOTE}",
    ]
    blocks = message_blocks(text, part, [task], NOTE)
    assert [block.get("text", block.get("title")) for block in blocks] == [
        chunk.get("text", chunk.get("title")) for chunk in chunks
    ]


def test_a_task_that_stands_there_is_told_again_only_when_it_changed() -> None:
    text, task = "Let me look!", Task("c1", "Looking", "complete", 12)
    part = Slice(0, 12)
    assert stream_chunks(text, part, 12, [task], sent=["c1"], whole=12) == []
    changed = stream_chunks(text, part, 12, [task], sent=["c1"], stale=["c1"], whole=12)
    assert [chunk["type"] for chunk in changed] == ["task_update"]


@pytest.mark.parametrize("name", SIXTEEN)
def test_a_message_that_ends_holds_nothing_back(name: str) -> None:
    """As the model's next message begins in a new paragraph, that says the same as not stopping."""
    text = f"{SIXTEEN[name].rstrip()}\n\nAnd so on <!here>."
    part, end = Slice(0, len(text)), len(SIXTEEN[name].rstrip())
    first = to_append(text, Slice(0, end), None, last=False, flush=True)
    then = to_append(text, part, end, last=True, whole=end)
    assert first + then == guarded(text)
