"""A cron line in words, for those who read no cron."""

from __future__ import annotations

from datetime import datetime
from typing import cast
from zoneinfo import ZoneInfo

from gateway.engine.kinds import JsonObject
from gateway.schedules.cron import Cron

_DAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")
_ALWAYS = ("*", "*", "*")


def told(line: str) -> str:
    """``0 9 * * 1-5`` → ``weekdays at 09:00``. A line that needs more words stays as it is."""
    minute, hour, *rest = line.split()
    cron = Cron.parse(line)
    if tuple(rest) == _ALWAYS and (every := _every(minute, hour)):
        return every
    days = _days(cron, *rest)
    if days is None or len(cron.minutes) > 3:
        return line
    times = " and ".join(f"{at // 60:02}:{at % 60:02}" for at in cron.minutes)
    return f"{days} at {times}"


def introduced(row: JsonObject) -> str:
    """A schedule (``Book.row``) on one line, for whoever starts a host."""
    zone = str(row["timezone"])
    said = f"schedule {row['name']} runs {row['told']} {zone}"
    if row["paused_by"] is not None:
        return f"{said}; it is paused by {row['paused_by']}: gateway schedules resume {row['name']}"
    due = datetime.fromtimestamp(cast("int", row["next"]) / 1000, ZoneInfo(zone))
    return f"{said}, next {due:%a %d %b %Y %H:%M}"


def _every(minute: str, hour: str) -> str | None:
    match minute.split("/"), hour:
        case [["*"], "*"]:
            return "every minute"
        case [["*", step], "*"] if 60 % int(step) == 0:
            return f"every {step} minutes" if int(step) > 1 else "every minute"
        case [[past], "*"] if past.isdigit():
            return f"every hour at {int(past)} past" if int(past) else "every hour"
        case _:
            return None


def _days(cron: Cron, day: str, month: str, weekday: str) -> str | None:
    if month != "*":
        return None
    if day == "*":
        return _weekdays(cron.weekdays)
    if weekday == "*" and len(cron.days) == 1:
        return f"on day {min(cron.days)} of the month"
    return None


def _weekdays(days: frozenset[int]) -> str:
    if len(days) == 7:
        return "every day"
    if days == frozenset(range(5)):
        return "weekdays"
    return " and ".join(_DAYS[day] for day in sorted(days))
