"""Words for people, on a page and on a terminal: nothing in them may deceive, or steer a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.host.words.text import clean, count, distance, full, iso, one_line, shown, span

STEERING = {*map(chr, range(32)), *map(chr, range(0x7F, 0xA0)), "\u202e", "\u2066", "\u2028"}
UNSEEN = {"\u00ad", "\u200b", "\u200d", "\u2060", "\u2063", "\ufeff", "\U000e0041"}


@given(st.text())
def test_clean_text_neither_steers_nor_hides(text: str) -> None:
    assert not (STEERING - {"\n", "\t"} | UNSEEN) & set(clean(text))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("invoice\u202etxt.exe", "invoice\\u202etxt.exe"),
        ("a\u200bb\u00adc\ufeff", "a\\u200bb\\xadc\\ufeff"),
        ("1042\U000e0031", "1042\\U000e0031"),
        ("\x1b[31mred\x07 nul\x00", "\\x1b[31mred\\x07 nul\\x00"),
        ("a\r\nb\tc\rd", "a\nb\tc\\rd"),
        ("Zoë 日本 🎉", "Zoë 日本 🎉"),
    ],
)
def test_what_could_deceive_is_made_visible(text: str, told: str) -> None:
    assert clean(text) == told
    assert shown(text) == told
    assert clean(shown({"key": text})) == shown({"key": text})


@given(st.text(), st.integers(2, 200))
def test_one_line_is_one_line_and_no_longer(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert "\n" not in line
    assert len(line) <= limit


def test_moments_and_spans() -> None:
    now = 1_795_995_336_000
    for millis, told in {
        now: "now",
        now - 59_000: "59 s ago",
        now - 7_200_000: "2 h ago",
        now + 172_800_000: "in 2 d",
    }.items():
        assert distance(millis, now) == told
    assert distance(None, now) == iso(None) == ""
    assert iso(1_795_958_428_464) == "2026-11-29T13:20:28.464Z"
    assert full(now) == "Sun 29 Nov 2026, 23:35:36 UTC"
    assert [span(n) for n in (0, 999, 1400, 60_000, 185_000, 3_600_000, 7_800_000)] == [
        "0 ms",
        "999 ms",
        "1.4 s",
        "1 min",
        "3 min 5 s",
        "1 h",
        "2 h 10 min",
    ]
    assert one_line("  a\n\nb  ") == "a b"
    assert one_line("x" * 200, 10) == "x" * 9 + "…"
    assert [count(1, "turn"), count(2, "turn"), count(2, "copy", "copies")] == [
        "1 turn",
        "2 turns",
        "2 copies",
    ]
