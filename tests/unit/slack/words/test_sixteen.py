"""Sixteen nasty texts, streamed, rewritten and as a fallback: said as they were meant, and nobody pinged."""

from __future__ import annotations

import random

import pytest

from channels.slack.words.guard import feed, guarded
from channels.slack.words.guardstate import Guard
from channels.slack.words.mrkdwn import MOST_TEXT, fallback
from channels.slack.words.richtext import blocks
from channels.slack.words.split import MOST_PART, cut, guarded_units
from tests.unit.slack.words.golden import GUARDED, MRKDWN, RICH
from tests.unit.slack.words.oracle import labelled, live, mentioning, unbalanced
from tests.unit.slack.words.sixteen import LONG_CODE, LONG_TEXT, SIXTEEN

EACH = pytest.mark.parametrize("name", SIXTEEN)


@EACH
def test_markdown_stays_what_it_is_but_for_what_is_dangerous(name: str) -> None:
    assert guarded(SIXTEEN[name]) == GUARDED.get(name, SIXTEEN[name])


@EACH
def test_a_stream_says_the_same_wherever_it_is_cut(name: str) -> None:
    text, draw = SIXTEEN[name], random.Random(name)  # noqa: S311 - where to cut, not a secret
    for _ in range(200 if len(text) < 3_000 else 3):
        state, said, at = Guard(), "", 0
        while at < len(text):
            step = draw.randint(1, 12)
            state, more = feed(state, text[at : at + step])
            said, at = said + more, at + step
        assert said + feed(state, "", True)[1] == guarded(text)


@EACH
def test_rich_text_has_every_part_in_its_place(name: str) -> None:
    made = blocks(SIXTEEN[name])
    assert [block["type"] for block in made] == ["rich_text"]
    if name in RICH:
        assert made[0]["elements"] == RICH[name]


@EACH
def test_the_fallback_text_is_slacks_own_markup(name: str) -> None:
    made = fallback(SIXTEEN[name])
    assert len(made) <= MOST_TEXT
    if name in MRKDWN:
        assert made == MRKDWN[name]


@EACH
def test_nobody_is_pinged_in_any_of_them(name: str) -> None:
    text = SIXTEEN[name]
    for part in (guarded(text), guarded(guarded(text))):
        assert not live(part)
        assert not labelled(part)
        assert not unbalanced(part)
    assert not mentioning(blocks(text))
    assert "<!" not in fallback(text)
    assert "<@" not in fallback(text)
    assert "<#" not in fallback(text)


def test_those_without_a_golden_text_are_the_long_ones() -> None:
    assert SIXTEEN.keys() - RICH.keys() == {"long code", "very long"}
    assert SIXTEEN.keys() - MRKDWN.keys() == {"long code", "very long"}


def test_four_hundred_lines_of_code_are_one_block_of_code() -> None:
    inside = LONG_CODE.removeprefix("```python\n").removesuffix("\n```\n")
    assert blocks(LONG_CODE)[0]["elements"] == [
        {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": inside}]}
    ]
    assert len(cut(LONG_CODE)) == 1
    shown = fallback(LONG_CODE)
    assert shown.startswith("```\nrow_0 = 0\n")
    assert shown.endswith("\n``` …")


def test_more_than_a_message_holds_is_several_each_ending_with_a_paragraph() -> None:
    parts = cut(LONG_TEXT)
    assert len(parts) == 2
    said = [part.of(LONG_TEXT) for part in parts]
    assert "".join(said) == LONG_TEXT
    assert said[0].endswith("\n\n")
    assert said[1].startswith("Paragraph ")
    assert all(guarded_units(part) <= MOST_PART for part in said)
