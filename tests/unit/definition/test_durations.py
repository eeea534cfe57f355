"""Lengths of time, as people write them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gateway.definition.schedules import parse_duration


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("90s", timedelta(seconds=90)),
        ("15 m", timedelta(minutes=15)),
        ("1h", timedelta(hours=1)),
        (" 2d ", timedelta(days=2)),
        ("0s", None),
        ("1:30", None),
        ("-1h", None),
        ("1w", None),
        ("١h", None),
        ("9999999999d", None),
        ("", None),
    ],
)
def test_lengths_of_time(text: str, length: timedelta | None) -> None:
    assert parse_duration(text) == length
