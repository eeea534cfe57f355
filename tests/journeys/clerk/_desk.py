"""What the agent shares with a test."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Desk:
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Who may decide, by policy."""
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    """Holds a step that is to be held."""
    asked: list[str] = field(default_factory=list[str])
    """What the model was asked, in order."""
    thinking: int = 0
    most: int = 0
    """How many questions it thought about at once, at most."""


DESK = Desk()


def build(env: Mapping[str, str]) -> Desk:
    return DESK
