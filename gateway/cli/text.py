"""Words and numbers as people read them, and nothing that could steer their terminal."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

from gateway.engine.kinds import Json, JsonObject

# C0 and C1 controls (a model's text could move the cursor, retitle the window, forge a line) and
# the invisible marks that reorder what is read. Line feed and tab stay.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)

Style = str
"""A style name that ``rich`` knows; empty for plain."""

STATE_STYLE: dict[str, Style] = {
    "completed": "green",
    "suspended": "yellow",
    "running": "cyan",
    "queued": "cyan",
    "failed": "red",
    "timed_out": "red",
    "cancelled": "dim",
}
STATE_MARK: dict[str, str] = {
    "completed": "✓",
    "suspended": "⏸",
    "running": "▸",
    "queued": "·",
    "failed": "✗",
    "timed_out": "✗",
    "cancelled": "–",
}
MARKS = frozenset("✓✗⏸▸·–↻")
"""What a line may begin with to say how something stands."""
ASCII_MARKS: dict[str, str] = {
    "✓": "ok",
    "✗": "x",
    "⏸": "||",
    "▸": ">",
    "·": "-",
    "–": "-",
    "→": "->",
    "…": "...",
    "↻": "~",
    "─": "-",
}
"""For a terminal that can't show the others."""


def clean(text: str) -> str:
    """Text that is safe to show: what steers a terminal becomes its visible escape."""

    def visible(match: re.Match[str]) -> str:
        if match.group() == "\r":
            return ""
        return match.group().encode("unicode_escape").decode("ascii")

    return _STEERING.sub(visible, text.replace("\r\n", "\n"))


def one_line(text: str, limit: int = 120) -> str:
    """The text on one line, cut with an ellipsis where it is too long."""
    flat = " ".join(clean(text).split())
    return flat if len(flat) <= limit else flat[: max(1, limit - 1)].rstrip() + "…"


def arguments(values: JsonObject, limit: int = 100) -> str:
    """``order_id=1042, amount=42.50``: a call's arguments at a glance."""
    return one_line(", ".join(f"{key}={value(item)}" for key, item in values.items()), limit)


def value(item: Json) -> str:
    """A value as written in a call: plain words bare, everything else as JSON."""
    if isinstance(item, str) and re.fullmatch(r"[\w.@:+/-]{1,60}", item):
        return item
    return clean(json.dumps(item, ensure_ascii=False))


def moment(millis: int | None) -> str:
    """ISO 8601 in UTC, the form for files and scripts."""
    if millis is None:
        return ""
    at = datetime.fromtimestamp(millis / 1000, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def ago(millis: int | None, now: int) -> str:
    """``2 h ago``, the form for a terminal."""
    if millis is None:
        return ""
    seconds = max(0, (now - millis) // 1000)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return f"{seconds} s ago" if seconds else "now"


def ahead(millis: int, now: int) -> str:
    """``in 2 h``, likewise."""
    seconds = max(0, (millis - now) // 1000)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"in {seconds // size} {unit}"
    return f"in {seconds} s"


def span(millis: int) -> str:
    """A duration: ``12 ms``, ``1.4 s``, ``3 min 5 s``."""
    if millis < 1000:
        return f"{millis} ms"
    if millis < 60_000:
        return f"{millis / 1000:.1f} s"
    minutes, seconds = divmod(millis // 1000, 60)
    return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"


def count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
