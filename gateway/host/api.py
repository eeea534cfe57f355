"""What every route works with: the runtime, who may call, and what this host can do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from gateway.engine.agent import AgentDef
from gateway.engine.errors import BusyError, NotFoundError
from gateway.engine.kinds import Millis
from gateway.engine.runtime import Runtime
from gateway.engine.session import Session
from gateway.host.channels.clerks import Clerks
from gateway.host.channels.registry import Registry
from gateway.host.console.access.access import Access
from gateway.host.metrics import Metrics
from gateway.host.problems import BadRequestError
from gateway.host.shapes import KEY_CHARACTERS, KEY_LENGTH, NO_DOTS
from gateway.host.words.names import Names
from gateway.schedules.book import Book
from gateway.values import ApiToken

_KEY = re.compile(f"{NO_DOTS}{KEY_CHARACTERS}{{1,{KEY_LENGTH}}}")


class DrainingError(BusyError):
    """This process stops; another one, or its next start, takes the request."""

    status = 503
    code = "draining"


@dataclass(kw_only=True)
class Api:
    """``agent`` answers at ``chat_path``."""

    runtime: Runtime
    agent: str
    tokens: tuple[ApiToken, ...] = ()
    chat_path: str = "/message"
    registry: Registry = field(default_factory=Registry)
    schedules: Book | None = None
    """Those of ``agent`` that this host runs."""
    metrics: Metrics = field(default_factory=Metrics)
    heartbeat: float = 15.0
    """Seconds between comments on a silent stream."""
    stall: float = 30.0
    """Seconds that a reader may leave a full connection unread."""
    hook_patience: float = 5.0
    """Seconds that a platform may take to send a webhook's body."""
    access: Access | None = None
    """Who may see the operators' pages; without it there are none."""
    version: str = ""
    started_at: Millis = Millis(0)
    mistakes: tuple[str, ...] = ()
    """Why the agent directory, as it is on the disk now, isn't what runs (``gateway dev``)."""
    draining: bool = False
    """The process begins to stop: new turns are refused, streams are told."""
    streams: set[OpenStream] = field(default_factory=set["OpenStream"])

    @cached_property
    def names(self) -> Names:
        """What people and places are called, as far as this host has heard."""
        return Names(self.registry.channels)

    @cached_property
    def clerks(self) -> Clerks:
        """Who looks after what came in by mail."""
        runtime = self.runtime
        return Clerks(self.registry.channels, self.agent, runtime.store.ledger, runtime.clock)

    @property
    def channels(self) -> tuple[str, ...]:
        """The mounted ones, by name."""
        return tuple(self.registry.channels)

    @property
    def body_bytes(self) -> int:
        # A message in JSON can be six times its size (\u00e9), plus what stands around it.
        return self.runtime.limits.message_bytes * 6 + 65_536

    def drain(self) -> None:
        self.draining = True
        for stream in list(self.streams):
            stream.tell()

    def end_streams(self) -> None:
        for stream in list(self.streams):
            stream.end()

    def agents(self) -> Mapping[str, AgentDef]:
        return self.runtime.agents

    def session(self, agent: str, key: str) -> Session:
        """A live conversation, addressed from outside; archived ones are only read."""
        check_session_key(key)
        return self.runtime.session(agent, key)

    def own_session(self, agent: str, key: str) -> Session:
        """A session that an API client may open turns in: channels' sessions are theirs alone,
        since a sender can't choose one and neither can a program that would pose as one."""
        prefix, colon, _ = key.partition(":")
        if colon and prefix in self.channels:
            raise BadRequestError(
                f"sessions that begin with {prefix!r}: belong to the channel {prefix!r}",
                fix="use a key of your own",
            )
        return self.session(agent, key)

    def book(self) -> Book:
        if self.schedules is None:
            raise NotFoundError(
                "no agent here has schedules", fix="run the agent with gateway serve"
            )
        return self.schedules

    def take_turns(self) -> None:
        if self.draining or self.runtime.draining:
            raise DrainingError("this host is stopping and takes no new turns", fix="try again")


class OpenStream(Protocol):
    """A reader's connection, as far as the end of the process concerns it."""

    def tell(self) -> None:
        """Say that the process is going to stop."""
        ...

    def end(self) -> None:
        """End the stream; its reader comes back with its cursor, to whoever is there."""
        ...


def archived(key: str) -> tuple[str, int | None]:
    """``s1#g0`` → (``s1``, 0). Raises ``NotFoundError`` for what names no generation."""
    base, mark, generation = key.partition("#")
    if not mark:
        return key, None
    number = generation.removeprefix("g")
    if not (generation.startswith("g") and number.isascii() and number.isdigit()):
        raise NotFoundError(f"no session {key!r}", fix="archived history is <session>#g<number>")
    return base, int(number[:9])


def check_session_key(key: str) -> None:
    """Raises ``BadRequestError`` for a key under which no live session could be reached."""
    if "#" in key:
        raise BadRequestError(
            "a session key can't contain '#': it marks archived history",
            fix="read archived history with GET …/transcript",
        )
    if not _KEY.fullmatch(key):
        raise BadRequestError(
            "a session key must be able to stand in a header and in one segment of a path",
            fix=f"use up to {KEY_LENGTH} printable ASCII characters, no spaces and no slashes, and"
            " neither . nor ..",
        )
