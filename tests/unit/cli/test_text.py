"""Words for people: nothing in them may steer a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.cli.text import ago, arguments, clean, moment, one_line, span, value
from gateway.engine.kinds import JsonObject

STEERING = {*map(chr, range(32)), *map(chr, range(0x7F, 0xA0)), "\u202e", "\u2066", "\u2028"}


@given(st.text())
def test_clean_text_never_steers(text: str) -> None:
    assert not (STEERING - {"\n", "\t"}) & set(clean(text))


def test_what_steers_becomes_visible() -> None:
    assert clean("\x1b[31mred\x07") == "\\x1b[31mred\\x07"
    assert clean("a\r\nb\rc") == "a\nbc"
    assert clean("right\u202eleft") == "right\\u202eleft"


@given(st.text(), st.integers(2, 200))
def test_one_line_is_one_line_and_no_longer(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert "\n" not in line
    assert len(line) <= limit


def test_arguments_show_words_bare_and_the_rest_as_json() -> None:
    given: JsonObject = {"order_id": "1042", "note": 'say "hi", twice', "amount": 42.5, "who": None}
    assert arguments(given, 200) == (
        'order_id=1042, note="say \\"hi\\", twice", amount=42.5, who=null'
    )
    # Text that looks like more arguments stays visibly one string.
    assert value("1042, amount=0") == '"1042, amount=0"'


@pytest.mark.parametrize(
    ("millis", "shown"),
    [(0, "0 ms"), (999, "999 ms"), (1400, "1.4 s"), (60_000, "1 min"), (185_000, "3 min 5 s")],
)
def test_spans(millis: int, shown: str) -> None:
    assert span(millis) == shown


def test_moments_are_utc_and_ages_round_down() -> None:
    assert moment(1_795_958_428_464) == "2026-11-29T13:20:28.464Z"
    assert moment(None) == ""
    assert ago(0, 7_199_999) == "1 h ago"
    assert ago(5_000, 5_400) == "now"
    assert ago(9_000, 5_000) == "now"
