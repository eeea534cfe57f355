"""Moments, spans and values as a page shows them. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime

from gateway.engine.kinds import Json

# Controls and the marks that reorder what is read: on a page that asks for a decision, arguments must
# not look like others. Tab and line feed stay.
_DECEIVING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)


def plain(text: object) -> str:
    """Text with everything that could hide or reorder a part of it made visible."""

    def shown(match: re.Match[str]) -> str:
        return f"\\u{ord(match.group()):04x}"

    return _DECEIVING.sub(shown, str(text).replace("\r\n", "\n"))


def one_line(text: object, limit: int = 120) -> str:
    flat = " ".join(plain(text).split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1].rstrip()}…"


def shown(value: Json) -> str:
    """A value whole: text as it is, everything else as JSON over several lines."""
    if isinstance(value, str):
        return plain(value)
    return plain(json.dumps(value, ensure_ascii=False, indent=2))


def iso(millis: int) -> str:
    """For ``<time datetime>``."""
    at = datetime.fromtimestamp(millis / 1000, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def full(millis: int) -> str:
    """``Mon 30 Nov 2026, 10:31:07 UTC``."""
    return datetime.fromtimestamp(millis / 1000, UTC).strftime("%a %-d %b %Y, %H:%M:%S UTC")


def distance(millis: int, now: int) -> str:
    """``2 h ago``, ``in 13 h``, ``now``."""
    seconds = abs(now - millis) // 1000
    if seconds == 0:
        return "now"
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        if seconds >= size:
            told = f"{seconds // size} {unit}"
            break
    else:
        raise AssertionError("a second is the least")
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


FILTERS: dict[str, Callable[..., str]] = {
    "plain": plain,
    "one_line": one_line,
    "shown": shown,
    "iso": iso,
    "full": full,
    "distance": distance,
    "span": span,
    "counted": count,
}
