"""What the agent's tools and its model share with a test. Each load of the directory has its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Scene:
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    """Holds an answer in its middle until it is set."""
    halted: int = 0
    """Answers that stand still there."""
    ran: list[str] = field(default_factory=list[str])
    """What tools did to the world, in order."""
    leads: frozenset[str] = frozenset()
    heard: Callable[[str], bool] = field(default=lambda _: False)
    """Whether anybody follows a session yet: what is said before that, nobody sees while it is written."""


SCENE = Scene()


def build(env: Mapping[str, str]) -> Scene:
    SCENE.leads = frozenset(env.get("LEADS", "").split())
    return SCENE
