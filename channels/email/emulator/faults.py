"""What goes wrong on demand: at the n-th time that a client comes to a step.

Steps are ``smtp:`` or ``imap:`` and a command: ``smtp:RCPT``, ``imap:FETCH`` (with or without ``UID``
before it). Both have ``CONNECT``, before the greeting; ``smtp:END`` is reached when the whole mail is
there. ``Fault("cut_after", "smtp:END")`` keeps the mail and cuts the line instead of saying so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

Kind = Literal["cut_before", "cut_after", "tempfail", "refuse", "slow", "mute"]
"""``mute``: no answer, and the line stays open. An IMAP server has no word for ``tempfail``; it refuses."""

KINDS: frozenset[str] = frozenset(get_args(Kind))


@dataclass(slots=True)
class Fault:
    """``count=None``: until ``repair``."""

    kind: Kind
    on: str
    nth: int = 1
    count: int | None = 1
    seconds: float = 1.0
    """How slow."""
    seen: int = 0
    struck: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"no such fault: {self.kind}; there are {', '.join(sorted(KINDS))}")
        if self.nth < 1 or (self.count is not None and self.count < 1):
            raise ValueError("nth and count begin at 1; count=None is for ever")

    def strikes(self, step: str) -> bool:
        """Whether it happens now. Asking counts, so ask once."""
        if self.on != step:
            return False
        self.seen += 1
        hit = self.seen >= self.nth and (self.count is None or self.seen < self.nth + self.count)
        self.struck += hit
        return hit


@dataclass(slots=True)
class Faults:
    planned: list[Fault] = field(default_factory=list[Fault])

    def add(self, fault: Fault) -> Fault:
        self.planned.append(fault)
        return fault

    def repair(self) -> None:
        """All is well again."""
        self.planned.clear()

    def take(self, step: str) -> Fault | None:
        """The fault that happens at this step; each that is planned counts this occasion."""
        hits = [fault for fault in self.planned if fault.strikes(step)]
        return hits[0] if hits else None
