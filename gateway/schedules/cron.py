"""Cron lines: minute, hour, day of month, month, day of week, read in a time zone.

A line names wall-clock times, and twice a year a wall clock jumps. A time that the jump leaves out
fires at the first moment after it; one that comes twice fires the first time. A line that runs in
every hour of the day means an interval instead: it fires whenever the clock on the wall matches, so
an hour that comes twice has its runs twice and one that is left out has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import count
from typing import Self
from zoneinfo import ZoneInfo

from gateway.engine.kinds import Millis


class CronError(ValueError):
    """What is wrong with a line, worded to follow "has a cron that", and what to write instead."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.fix = fix


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    low: int
    high: int
    words: tuple[str, ...] = ()

    def number(self, text: str) -> int | None:
        if text.lower() in self.words:
            return self.words.index(text.lower()) + self.low
        return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else None


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of week", 0, 7, _DAYS),
)
_LONGEST_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_RARE = Millis(45 * 366 * 86_400_000)
"""No line rests longer: 29 February falls on a given day of the week within forty years."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """A line that was understood. ``weekdays`` counts from Monday, as ``date.weekday`` does."""

    minutes: tuple[int, ...]
    """Of a day, from its midnight."""
    hourly: bool
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool
    """Both days are given: one that fits is enough."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ``CronError``."""
        parts = text.split()
        if len(parts) != len(_FIELDS):
            fields = "1 field" if len(parts) == 1 else f"{len(parts)} fields"
            raise CronError(
                f"has {fields} instead of 5 (minute hour day month weekday)",
                'write five fields: cron: "0 9 * * 1-5"',
            )
        minutes, hours, days, months, weekdays = (
            _values(field, part) for field, part in zip(_FIELDS, parts, strict=True)
        )
        either = not parts[2].startswith("*") and not parts[4].startswith("*")
        if not either and not any(
            day <= _LONGEST_MONTH[month - 1] for day in days for month in months
        ):
            there = " ".join((*parts[:2], "28", *parts[3:]))
            raise CronError(
                "names a date that never comes", f'name a day that the month has: cron: "{there}"'
            )
        return cls(
            minutes=tuple(
                hour * 60 + minute for hour in sorted(hours) for minute in sorted(minutes)
            ),
            hourly=len(hours) == 24,
            days=days,
            months=months,
            weekdays=frozenset((day - 1) % 7 for day in weekdays),
            either=either,
        )

    def next(self, zone: ZoneInfo, after: Millis) -> Millis:
        return next(self.ticks(zone, after, Millis(after + _RARE)))

    def ticks(self, zone: ZoneInfo, after: Millis, until: Millis) -> Iterator[Millis]:
        """Every moment it fires, later than ``after`` and no later than ``until``, in order."""
        for second in self._seconds(zone, after // 1000, until // 1000):
            tick = Millis(second * 1000)
            if tick > until:
                return
            if tick > after:
                yield tick

    def _seconds(self, zone: ZoneInfo, after: int, until: int) -> Iterator[int]:
        # A day either way: a tick that a jump put off, or brought again, stands on another date.
        first = datetime.fromtimestamp(after, zone).date() - timedelta(days=1)
        last = datetime.fromtimestamp(until, zone).date() + timedelta(days=1)
        held: list[int] = []
        for day in self._dates(first, last):
            found = self._on(day, zone)
            if not found:
                continue
            if held and found[0] <= held[-1]:  # an hour that comes twice reaches over midnight
                held = sorted({*held, *found})
                continue
            yield from held
            held = found
        yield from held

    def _dates(self, first: date, last: date) -> Iterator[date]:
        for year, month in _months(first):
            if (year, month) > (last.year, last.month):
                return
            if month not in self.months:
                continue
            start = date(year, month, 1)
            for day in (start + timedelta(days=n) for n in range(31)):
                if day.month == month and first <= day <= last and self._fits(day):
                    yield day

    def _fits(self, day: date) -> bool:
        by_number, by_name = day.day in self.days, day.weekday() in self.weekdays
        return (by_number or by_name) if self.either else (by_number and by_name)

    def _on(self, day: date, zone: ZoneInfo) -> list[int]:
        """The moments of one date, in order, in seconds since the epoch."""
        midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - as the wall shows it
        begins = _at(midnight, zone, 0)
        if _at(midnight + timedelta(days=1), zone, 1) - begins == 86_400:  # no jump on this date
            return [begins + minute * 60 for minute in self.minutes]
        moments: set[int] = set()
        for minute in self.minutes:
            wall = midnight + timedelta(minutes=minute)
            moments |= _every(wall, zone) if self.hourly else {_first(wall, zone)}
        return sorted(moments)


def _months(first: date) -> Iterator[tuple[int, int]]:
    for n in count(first.year * 12 + first.month - 1):
        yield n // 12, n % 12 + 1


def _values(field: _Field, part: str) -> frozenset[int]:
    chosen: set[int] = set()
    for item in part.split(","):
        chosen.update(_expand(field, item))
    return frozenset(chosen)


def _expand(field: _Field, item: str) -> range:
    """The numbers one entry stands for."""
    said = f"has the {field.name} {item!r},"
    within = f"for the {field.name}, write {field.low} to {field.high}"
    base, slash, step_text = item.partition("/")
    if slash and not (
        step_text.isascii() and step_text.isdigit() and 0 < int(step_text[:4]) < 1000
    ):
        raise CronError(f"{said} whose step isn't a number above 0", f"write {base}/5, say")
    step = int(step_text) if slash else 1
    if base == "*":
        return range(field.low, field.high + 1, step)
    first, dash, last = base.partition("-")
    low = field.number(first)
    # A step without a range runs to the end: 5/15 is 5-59/15.
    high = field.number(last) if dash else (field.high if slash else low)
    if low is None or high is None:
        named = f" or a name ({', '.join(field.words)})" if field.words else ""
        raise CronError(
            f"{said} which isn't a number" + (" or a name" if field.words else ""),
            f"{within}{named}",
        )
    if low < field.low or high > field.high:
        raise CronError(f"{said} outside {field.low}-{field.high}", within)
    if low > high:
        raise CronError(
            f"{said} a range that runs backwards",
            f"write it as two: {first}-{field.high}{slash}{step_text},{field.low}-{last}{slash}{step_text}",
        )
    return range(low, high + 1, step)


# -- from the clock on the wall to a moment --------------------------------------------------------
def _at(wall: datetime, zone: ZoneInfo, fold: int) -> int:
    return int(wall.replace(tzinfo=zone, fold=fold).timestamp())


def _every(wall: datetime, zone: ZoneInfo) -> set[int]:
    """The moments at which the wall shows this: one, two, or none."""
    both = {_at(wall, zone, 0), _at(wall, zone, 1)}
    return {at for at in both if datetime.fromtimestamp(at, zone).replace(tzinfo=None) == wall}


def _first(wall: datetime, zone: ZoneInfo) -> int:
    """The first moment at which the wall shows this or, left out, what comes after it."""
    shown = _every(wall, zone)
    if shown:
        return min(shown)
    # Read by the time before the jump a missing time lies behind it, by the one after, ahead of it.
    low, high = sorted((_at(wall, zone, 0), _at(wall, zone, 1)))
    after = datetime.fromtimestamp(high, zone).utcoffset()
    while high - low > 1:
        middle = (low + high) // 2
        if datetime.fromtimestamp(middle, zone).utcoffset() == after:
            high = middle
        else:
            low = middle
    return high
