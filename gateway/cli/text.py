"""What only a terminal needs: styles, marks, a call on one line."""

from __future__ import annotations

import json
import re

from gateway.engine.kinds import Json, JsonObject
from gateway.host.words.text import clean, one_line

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


def arguments(values: JsonObject, limit: int = 100) -> str:
    """``order_id=1042, amount=42.50``: a call's arguments at a glance."""
    return one_line(", ".join(f"{key}={value(item)}" for key, item in values.items()), limit)


def value(item: Json) -> str:
    """A value as written in a call: plain words bare, everything else as JSON."""
    if isinstance(item, str) and re.fullmatch(r"[\w.@:+/-]{1,60}", item):
        return item
    return clean(json.dumps(item, ensure_ascii=False))
