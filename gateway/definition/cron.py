"""Whether a cron line can be understood: minute, hour, day of month, month, day of week."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta


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


def cron_problem(text: str) -> str | None:
    """What is wrong with a cron line, or ``None``."""
    parts = text.split()
    if len(parts) != len(_FIELDS):
        return f"has {len(parts)} fields instead of 5 (minute hour day month weekday)"
    values: list[set[int]] = []
    for field, part in zip(_FIELDS, parts, strict=True):
        chosen: set[int] = set()
        for item in part.split(","):
            numbers = _expand(field, item)
            if isinstance(numbers, str):
                return f"has the {field.name} {item!r}, {numbers}"
            chosen |= numbers
        values.append(chosen)
    if parts[4] == "*" and not any(
        day <= _LONGEST_MONTH[month - 1] for day in values[2] for month in values[3]
    ):
        return "names a date that never comes"
    return None


def _expand(field: _Field, item: str) -> set[int] | str:
    """The numbers one entry stands for, or what is wrong with it."""
    base, slash, step_text = item.partition("/")
    step = 1
    if slash:
        if not (step_text.isascii() and step_text.isdigit() and 0 < int(step_text[:4]) < 1000):
            return "whose step isn't a number above 0"
        step = int(step_text)
    if base == "*":
        low, high = field.low, field.high
    else:
        first, dash, last = base.partition("-")
        start = field.number(first)
        # A step without a range runs to the end: 5/15 is 5-59/15.
        end = field.number(last) if dash else (field.high if slash else start)
        if start is None or end is None:
            return "which isn't a number" + (" or a name" if field.words else "")
        low, high = start, end
    if low < field.low or high > field.high:
        return f"outside {field.low}-{field.high}"
    if low > high:
        return "a range that runs backwards"
    return set(range(low, high + 1, step))


_DURATION = re.compile(r"(\d{1,6})\s*(s|m|h|d)", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def parse_duration(text: str) -> timedelta | None:
    """``90s``, ``15m``, ``1h``, ``2d``; ``None`` for anything else, zero included."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        return None
    return timedelta(**{_UNITS[match[2]]: int(match[1])}) or None
