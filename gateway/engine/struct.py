"""The dataclass that rows, events and messages are made of: fixed for the type checkers only.

Freezing at run time makes every field three times as dear to set, and a step makes some thirty of
these. Nobody may assign to them all the same; mypy and pyright see a frozen dataclass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["struct"]

if TYPE_CHECKING:
    from dataclasses import dataclass as struct
else:
    from dataclasses import dataclass

    def struct(*, frozen: bool, slots: bool, **more: bool) -> object:
        """``dataclass(frozen=True, slots=True)`` to a checker; hashable and mutable here."""
        return dataclass(slots=slots, unsafe_hash=frozen, **more)
