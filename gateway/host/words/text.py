"""Moments, spans, counts, and what others wrote with nothing left in it that could deceive. Pure."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

from gateway.engine.kinds import Json

# Controls steer a terminal, and marks that reorder or can't be seen make one text look like another. One
# set for pages and terminals: people decide on both, and what they are shown has to be what will run.
# Tab and line feed stay. That emoji joined of several come apart is the price.
_DECEIVING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def clean(text: object) -> str:
    """Text with everything visible that could hide, reorder or forge a part of it."""

    def visible(match: re.Match[str]) -> str:
        return match.group().encode("unicode_escape").decode("ascii")

    return _DECEIVING.sub(visible, str(text).replace("\r\n", "\n"))


def one_line(text: object, limit: int = 120) -> str:
    """The text on one line, cut with an ellipsis where it is too long."""
    flat = " ".join(clean(text).split())
    return flat if len(flat) <= limit else f"{flat[: max(1, limit - 1)].rstrip()}…"


def shown(value: Json) -> str:
    """A value whole: text as it is, everything else as JSON over several lines."""
    if isinstance(value, str):
        return clean(value)
    return clean(json.dumps(value, ensure_ascii=False, indent=2))


def iso(millis: int | None) -> str:
    """ISO 8601 in UTC, the form for files, scripts and ``<time datetime>``."""
    if millis is None:
        return ""
    at = datetime.fromtimestamp(millis / 1000, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def full(millis: int) -> str:
    """``Mon 30 Nov 2026, 10:31:07 UTC``."""
    return datetime.fromtimestamp(millis / 1000, UTC).strftime("%a %-d %b %Y, %H:%M:%S UTC")


def distance(millis: int | None, now: int) -> str:
    """``2 h ago``, ``in 13 h``, ``now``."""
    if millis is None:
        return ""
    seconds = abs(now - millis) // 1000
    if seconds == 0:
        return "now"
    sizes = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
    size, unit = next((size, unit) for size, unit in sizes if seconds >= size)
    told = f"{seconds // size} {unit}"
    return f"{told} ago" if millis < now else f"in {told}"


def span(millis: int) -> str:
    """``12 ms``, ``1.4 s``, ``3 min 5 s``, ``2 h 10 min``."""
    if millis < 1000:
        return f"{millis} ms"
    if millis < 60_000:
        return f"{millis / 1000:.1f} s"
    minutes, seconds = divmod(millis // 1000, 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def count(number: int, one: str, many: str = "") -> str:
    """``1 turn``, ``3 turns``."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"
