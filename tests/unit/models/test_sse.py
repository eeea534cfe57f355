"""Server-sent events come out the same however the bytes were cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.models._sse import Decoder, Frame, FrameTooLarge

STREAM = (
    ": a comment\r\n\r\n"
    "event: one\r\ndata: {\"é\":\"🙂\u2028\"}\r\n\r\n"
    "data: two\rdata:lines\r\r"
    "event:three\nid: 4\nretry: 9\ndata: x\n\n\n"
    "event: nothing\n\n"
    "data\n\n"
    "event: cut\ndata: never ended"
).encode()  # fmt: skip
FRAMES = [
    Frame("one", '{"é":"🙂\u2028"}'),
    Frame("", "two\nlines"),
    Frame("three", "x"),
    Frame("", ""),
]


def decoded(chunks: list[bytes], limit: int = 10_000) -> list[Frame]:
    decoder = Decoder(limit)
    return [frame for chunk in chunks for frame in decoder.feed(chunk)]


def test_each_field_means_what_the_format_says() -> None:
    assert decoded([STREAM]) == FRAMES


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_cutting_the_bytes_elsewhere_changes_nothing(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    assert decoded([STREAM[a:b] for a, b in pairwise(places)]) == FRAMES


def test_byte_by_byte() -> None:
    assert decoded([bytes([byte]) for byte in STREAM]) == FRAMES


@pytest.mark.parametrize("endless", [b"data: " + b"x" * 64, b"x" * 64, b"data: x\n", b":\n"])
def test_an_event_that_never_ends_fails(endless: bytes) -> None:
    with pytest.raises(FrameTooLarge):
        decoded([endless] * 1000, limit=1000)


def test_many_events_are_no_large_one() -> None:
    assert len(decoded([b"data: x\n\n"] * 1000, limit=100)) == 1000


def test_bytes_that_are_no_text_are_an_error() -> None:
    with pytest.raises(UnicodeDecodeError):
        decoded([b"data: \xff\n\n"])
