"""The small vocabulary every engine record is written in: ids, JSON, states, trust."""

from __future__ import annotations

from typing import Literal, NewType

from gateway.engine.struct import struct

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
JsonObject = dict[str, Json]

SessionId = NewType("SessionId", int)
"""A session's row in one store; never leaves the process."""
TurnRow = NewType("TurnRow", int)
"""A turn's row in one store; never leaves the process."""
Millis = NewType("Millis", int)
"""Milliseconds: since the Unix epoch (UTC) for a moment, plain for a duration."""

Role = Literal["user", "trigger", "assistant", "tool"]
Trust = Literal["operator", "attested", "unattested", "tool", "agent"]
Level = Literal["none", "domain", "sender", "provider", "linked"]
Effect = Literal["read", "write", "external", "money"]
Begins = Literal["inbound", "proactive"]
Trigger = Begins | Literal["resume"]
TurnState = Literal[
    "queued", "running", "suspended", "completed", "failed", "cancelled", "timed_out"
]
SessionStatus = Literal["new", "idle", "running", "suspended", "resetting"]
CancelReason = Literal["requested", "replaced", "reset"]
Outcome = Literal["approved", "denied", "answered", "expired", "cancelled"]

OPEN_STATES: frozenset[TurnState] = frozenset({"queued", "running", "suspended"})
LEVELS: tuple[Level, ...] = ("none", "domain", "sender", "provider", "linked")


@struct(frozen=True, slots=True)
class SessionRef:
    """The address of one conversation: which agent, which string key."""

    agent: str
    key: str


@struct(frozen=True, slots=True)
class Speaker:
    """Who wrote the message that opened a turn, as far as the channel could verify it.

    ``id`` is a canonical identity (``slack:T1:U1``, ``email:a@b.example``); ``level`` says how well
    it is known. ``attested`` means at least ``sender``.
    """

    id: str
    name: str = ""
    tenant: str = ""
    level: Level = "none"
    linked: tuple[str, ...] = ()

    def at_least(self, level: Level) -> bool:
        return LEVELS.index(self.level) >= LEVELS.index(level)

    @property
    def attested(self) -> bool:
        return self.at_least("sender")
