"""Cron lines in words."""

from __future__ import annotations

import pytest

from gateway.engine.kinds import JsonObject
from gateway.schedules.words import introduced, told


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("0 9 * * 1-5", "weekdays at 09:00"),
        ("0 9 * * mon-fri", "weekdays at 09:00"),
        ("30 7 * * *", "every day at 07:30"),
        ("0 9,17 * * *", "every day at 09:00 and 17:00"),
        ("0 8 * * 1", "Mondays at 08:00"),
        ("0 8 * * 0,6", "Saturdays and Sundays at 08:00"),
        ("0 8 1 * *", "on day 1 of the month at 08:00"),
        ("* * * * *", "every minute"),
        ("*/1 * * * *", "every minute"),
        ("*/15 * * * *", "every 15 minutes"),
        ("0 * * * *", "every hour"),
        ("05 * * * *", "every hour at 5 past"),
        ("*/7 * * * *", "*/7 * * * *"),
        ("*/5 8-18 * * *", "*/5 8-18 * * *"),
        ("0 8 13 * 5", "0 8 13 * 5"),
        ("0 8 29 2 *", "0 8 29 2 *"),
    ],
)
def test_a_line_in_words(line: str, words: str) -> None:
    assert told(line) == words


@pytest.mark.parametrize(
    ("paused_by", "said"),
    [
        (None, "next Mon 30 Nov 2026 09:00"),
        ("cli:june", "it is paused by cli:june: gateway schedules resume digest"),
    ],
)
def test_a_schedule_introduces_itself(paused_by: str | None, said: str) -> None:
    row: JsonObject = {
        "name": "digest",
        "told": "weekdays at 09:00",
        "timezone": "Europe/Paris",
        "paused_by": paused_by,
        "next": None if paused_by else 1_796_025_600_000,
    }
    line = introduced(row)
    assert line.startswith("schedule digest runs weekdays at 09:00 Europe/Paris")
    assert line.endswith(said)
