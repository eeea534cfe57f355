"""What happened, kept for assertions. "Exactly once" is a question to this journal, never to a mailbox."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gateway.engine.kinds import Millis
from gateway.engine.struct import struct


@dataclass(slots=True)
class Handed:
    """A whole mail that a client handed over, whatever became of it."""

    sender: str
    """The envelope's."""
    recipients: tuple[str, ...]
    raw: bytes
    at: Millis
    user: str = ""
    """Who had signed in; empty for mail from outside."""
    kept: bool = False
    """The server took it on, whatever the client was told."""
    told: str = ""
    """The reply; empty where the line was cut instead."""
    message_id: str = ""

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.raw).hexdigest()


@struct(frozen=True, slots=True)
class Left:
    """A mail to somebody who has no mailbox here."""

    sender: str
    recipient: str
    raw: bytes


@dataclass(slots=True)
class Journal:
    handed: list[Handed] = field(default_factory=list[Handed])
    left: list[Left] = field(default_factory=list[Left])
    watchers: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])

    def changed(self) -> None:
        for watcher in list(self.watchers):
            watcher()

    def kept(self, message_id: str | None = None) -> Sequence[Handed]:
        """What the server took on, oldest first; of one Message-ID or all."""
        return [h for h in self.handed if h.kept and message_id in {None, h.message_id}]

    def to(self, address: str) -> Sequence[Left]:
        """What left for one address."""
        return [mail for mail in self.left if mail.recipient == address]
