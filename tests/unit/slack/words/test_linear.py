"""Words of strangers are read in time that grows with their length: nothing that is tried in vain at one place
is tried again at the next."""

from __future__ import annotations

import time

import pytest

from channels.slack.words.guard import one_line
from channels.slack.words.inward import plain
from channels.slack.words.links import judge, leads_somewhere
from gateway.intake.envelope import unwrapped

LONG = 100_000
SECONDS = 1.0
"""Of this process, and many times what it takes. What goes back at each place takes a minute."""


@pytest.mark.parametrize("piece", ["a", "a.", "a-", "1", "é", "a@", ":a", "a+", "//"])
def test_a_link_of_any_length_is_judged_at_once(piece: str) -> None:
    label = piece * (LONG // len(piece)) + "!"
    begun = time.process_time()
    judge(label, "https://shop.example/")
    judge(label, "mailto:ada@shop.example")
    leads_somewhere(label)
    assert time.process_time() - begun < SECONDS


@pytest.mark.parametrize("piece", ["[a](", "&a", "[", "<!", "`a"])
def test_a_title_of_any_length_is_made_at_once(piece: str) -> None:
    begun = time.process_time()
    made = one_line(piece * (LONG // len(piece)), 80)
    assert time.process_time() - begun < SECONDS
    assert len(made) == 80


def test_any_number_of_people_is_named_at_once() -> None:
    text = " ".join(f"<@U{number}>" for number in range(LONG // 9))
    begun = time.process_time()
    assert plain(text, us="U1").text.startswith("@U0 @U1 @U2")
    assert time.process_time() - begun < SECONDS


def test_what_looks_like_an_envelope_is_unwrapped_at_once() -> None:
    opened = '<message mark="aaaaaaaaaaaaaaaa">\n'
    text = opened * (LONG // len(opened))
    begun = time.process_time()
    assert unwrapped(text) == text
    assert unwrapped(f'{text}\n</message mark="aaaaaaaaaaaaaaaa">\n') == text.removeprefix(opened)
    assert unwrapped(f'{text}\n</message mark="bbbbbbbbbbbbbbbb">\n').startswith(opened)
    assert time.process_time() - begun < SECONDS
