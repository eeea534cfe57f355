"""What goes wrong on demand: at the n-th time that a client comes to a step.

Steps are ``smtp:`` or ``imap:`` and a command: ``smtp:RCPT``, ``imap:FETCH`` (with or without ``UID``
before it). Both have ``CONNECT``, before the greeting; ``smtp:END`` is reached when the whole mail is
there. ``Fault("cut_after", "smtp:END")`` keeps the mail and cuts the line instead of saying so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from gateway.emulating import Counted, Planned

Kind = Literal["cut_before", "cut_after", "tempfail", "refuse", "slow", "mute"]
"""``mute``: no answer, and the line stays open. An IMAP server has no word for ``tempfail``; it refuses."""

KINDS: frozenset[str] = frozenset(get_args(Kind))


@dataclass(slots=True)
class Fault(Counted):
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
        self.check(self.kind, KINDS)

    def strikes(self, step: str) -> bool:
        """Whether it happens now. Asking counts, so ask once."""
        if self.on != step:
            return False
        return self.met()


class Faults(Planned[Fault]):
    def take(self, step: str) -> Fault | None:
        """The fault that happens at this step."""
        return self.first(lambda fault: fault.strikes(step))
