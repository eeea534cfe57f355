"""What the emulators of the platforms have in common: things that go wrong at the n-th occasion, on demand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

__all__ = ["Counted", "Planned"]

F = TypeVar("F", bound="Counted")


class Counted:
    """A fault that strikes at its ``nth`` occasion and ``count`` times from then on; ``None``: until it is
    repaired. Whoever is one keeps the four."""

    nth: int
    count: int | None
    seen: int
    struck: int

    def check(self, kind: str, kinds: frozenset[str]) -> None:
        """Raises ``ValueError`` for a kind that there isn't, or numbers that mean nothing."""
        if kind not in kinds:
            raise ValueError(f"no such fault: {kind}; there are {', '.join(sorted(kinds))}")
        if self.nth < 1 or (self.count is not None and self.count < 1):
            raise ValueError("nth and count begin at 1; count=None is for ever")

    def met(self) -> bool:
        """Whether it happens at this occasion. Asking counts, so ask once."""
        self.seen += 1
        hit = self.seen >= self.nth and (self.count is None or self.seen < self.nth + self.count)
        self.struck += hit
        return hit


@dataclass
class Planned(Generic[F]):
    """The faults that are to come."""

    planned: list[F] = field(default_factory=list[F])

    def add(self, fault: F) -> F:
        self.planned.append(fault)
        return fault

    def repair(self) -> None:
        """All is well again."""
        self.planned.clear()

    def first(self, strikes: Callable[[F], bool]) -> F | None:
        """The fault that happens here; each that is planned counts this occasion."""
        hits = [fault for fault in self.planned if strikes(fault)]
        return hits[0] if hits else None
