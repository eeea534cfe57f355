"""Cron lines and lengths of time, as people write them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.definition.cron import cron_problem, parse_duration


@pytest.mark.parametrize(
    "line",
    [
        "* * * * *",
        "0 9 * * 1-5",
        "  0   9 * *  MON-FRI ",
        "*/15 8-18 * * *",
        "5/15 * * * *",
        "0-30/10,45 * * jan,Mar-DEC sun",
        "59 23 31 12 7",
        "0 0 29 2 *",
        "0 0 30 2 1",
    ],
)
def test_a_line_that_can_be_understood(line: str) -> None:
    assert cron_problem(line) is None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "has 0 fields instead of 5"),
        ("0 9 * * * *", "has 6 fields instead of 5"),
        ("@daily", "has 1 fields instead of 5"),
        ("60 * * * *", "the minute '60', outside 0-59"),
        ("* * 0 * *", "the day of month '0', outside 1-31"),
        ("* * * 13 *", "the month '13', outside 1-12"),
        ("* * * * 8", "the day of week '8', outside 0-7"),
        ("1,,2 * * * *", "the minute '', which isn't a number"),
        ("-5 * * * *", "the minute '-5', which isn't a number"),
        ("* * * mai *", "the month 'mai', which isn't a number or a name"),
        ("* * * * L", "the day of week 'L', which isn't a number or a name"),
        ("*/x * * * *", "the minute '*/x', whose step isn't a number above 0"),
        ("*/99999999999 * * * *", "whose step isn't a number above 0"),
        ("* * 31 2,4,6,9,11 *", "names a date that never comes"),
    ],
)
def test_a_line_that_cannot(line: str, said: str) -> None:
    assert said in (cron_problem(line) or "")


@given(st.text(st.sampled_from("0123456789*/,-LW# \tsunmoja٣²")))
def test_no_line_is_too_strange(line: str) -> None:
    problem = cron_problem(line)
    assert problem is None or len(problem.splitlines()) == 1


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
