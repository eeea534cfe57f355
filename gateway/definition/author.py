"""The records an author writes in ``agent.py`` and ``schedules/*.py``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, Protocol

from typing_extensions import override

from gateway.engine.agent import AuthorizeAnswer, OnTurnError, Surface
from gateway.engine.model import ModelReply, ModelRequest
from gateway.engine.ports import Model

ServicesFactory = Callable[[Mapping[str, str]], object | Awaitable[object]]
"""Takes the environment, returns what tools find in ``ctx.services``; may be ``async``."""

Reply = Callable[[ModelRequest], ModelReply | Awaitable[ModelReply]]
"""What ``offline.py`` defines as ``reply``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent, as its author declares it; tools, prompts and skills are found beside it.

    ``model`` is the name of a model (``claude-…``), ``scripted``, or an object of your own that
    speaks the model seam. ``surfaces`` maps a source to its policy, ``approvals`` a policy to the
    surface its requests are shown on, for all turns or for those from one source (``"email:refunds"``).
    """

    name: str
    model: str | Model
    surfaces: Mapping[str, Surface] = field(default_factory=dict[str, Surface])
    approvals: Mapping[str, str] = field(default_factory=dict[str, str])
    authorize_answer: AuthorizeAnswer | None = None
    services: ServicesFactory | None = None
    on_turn_error: OnTurnError | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """Where something is delivered: a channel and an address that means something to it."""

    channel: str
    address: str

    @classmethod
    def parse(cls, text: str) -> Target:
        """``slack:C0123`` → ``Target("slack", "C0123")``. Raises ``ValueError``."""
        channel, colon, address = text.strip().partition(":")
        if not colon or not channel or not address:
            raise ValueError(f"{text!r} is no target: write <channel>:<address>, like slack:C0123")
        return cls(channel, address)

    @override
    def __str__(self) -> str:
        return f"{self.channel}:{self.address}"


class SeedFunction(Protocol):
    """Says what a due schedule asks the agent, or ``None`` when there's nothing to ask."""

    def __call__(self, *, at: datetime, services: object) -> str | Awaitable[str | None] | None: ...


Missed = Literal["skip", "latest", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A turn the agent starts by itself.

    ``cron`` has five fields, read in ``timezone`` (an IANA name). ``seed`` is the text that opens
    the turn, or a function that makes it. ``missed`` says what becomes of ticks that fell into
    downtime, if they are no older than ``within``.
    """

    cron: str
    seed: str | SeedFunction
    target: Target | str | None = None
    timezone: str = "UTC"
    missed: Missed = "latest"
    within: timedelta = timedelta(hours=1)
