"""What happened, kept for assertions: every call, every delivery, everybody who was pinged.

"Exactly once" is a question to this journal, never to the screen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from gateway.engine.kinds import Json, JsonObject, Millis
from gateway.engine.struct import struct

Way = Literal["event", "interactive", "command"]
PingKind = Literal["user", "group", "broadcast"]


@dataclass(slots=True)
class Called:
    """One request to the Web API and what it was told."""

    number: int
    method: str
    arguments: JsonObject
    token: str
    """Its last characters: a journal is printed, and a token isn't."""
    team: str
    at: Millis
    monotonic: float
    headers: dict[str, str] = field(default_factory=dict[str, str])
    status: int | None = None
    """Nothing while it is under way, and where the connection was cut instead of answered."""
    answer: JsonObject = field(default_factory=dict[str, Json])
    """What it was told, or would have been."""
    applied: bool = False
    """It was carried out, whatever the client was told."""
    fault: str | None = None
    overlapping: bool = False
    """Another call about the same message was under way: a writer that didn't wait its turn."""

    @property
    def ok(self) -> bool:
        return self.status == 200 and self.answer.get("ok") is True

    @property
    def error(self) -> str | None:
        error = self.answer.get("error")
        return error if isinstance(error, str) else None


@dataclass(slots=True)
class Attempt:
    """One time that something was sent to an app."""

    number: int
    """0 is the first; retries count from 1."""
    reason: str
    at: Millis
    status: int | None = None
    outcome: str = "pending"
    """``acked``, ``http_error``, ``http_timeout``, ``connection_failed``, ``lost``, ``no_ack``."""
    answer: str = ""


@dataclass(slots=True)
class Delivered:
    """One event, click, view or command on its way to an app, with every attempt."""

    id: str
    """The event's id, or one of the emulator's own where Slack gives none."""
    app: str
    kind: Way
    type: str
    payload: JsonObject
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    over: bool = False

    @property
    def acked(self) -> bool:
        return any(attempt.outcome == "acked" for attempt in self.attempts)


@struct(frozen=True, slots=True)
class Ping:
    """Somebody whose client an app's message would have notified."""

    kind: PingKind
    id: str
    """A user's or a group's id, or ``channel``, ``here``, ``everyone``."""
    channel: str
    ts: str
    by: str


@struct(frozen=True, slots=True)
class Unfurled:
    """An address that Slack would have fetched."""

    url: str
    channel: str
    ts: str
    by: str


@dataclass(slots=True)
class Journal:
    calls: list[Called] = field(default_factory=list[Called])
    deliveries: list[Delivered] = field(default_factory=list[Delivered])
    pinged: list[Ping] = field(default_factory=list[Ping])
    unfurled: list[Unfurled] = field(default_factory=list[Unfurled])
    trouble: list[str] = field(default_factory=list[str])
    """What an app did that Slack would frown on, in a sentence each."""
    watchers: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])

    def changed(self) -> None:
        for watcher in list(self.watchers):
            watcher()

    def of(self, *methods: str) -> Sequence[Called]:
        """The calls of these methods, oldest first."""
        return [call for call in self.calls if call.method in methods]

    def count(self, *methods: str) -> int:
        """How often these were called with an effect."""
        return sum(1 for call in self.of(*methods) if call.applied)

    def events(self, kind: str | None = None) -> Sequence[Delivered]:
        """What was sent to apps, of one type or all; ``message`` or ``block_actions`` for instance."""
        return [sent for sent in self.deliveries if kind in {None, sent.type}]

    @property
    def overlaps(self) -> Sequence[Called]:
        return [call for call in self.calls if call.overlapping]

    @property
    def limited(self) -> Sequence[Called]:
        """Calls that were too many; not those that a fault refused."""
        return [call for call in self.calls if call.status == 429 and call.fault is None]

    def ping(self, ping: Ping) -> None:
        """A person is told of one message once, however often it is edited."""
        known = (ping.kind, ping.id, ping.channel, ping.ts)
        if known not in {(p.kind, p.id, p.channel, p.ts) for p in self.pinged}:
            self.pinged.append(ping)
            self.changed()

    def unfurl(self, unfurled: Unfurled) -> None:
        if unfurled not in self.unfurled:
            self.unfurled.append(unfurled)
            self.changed()
