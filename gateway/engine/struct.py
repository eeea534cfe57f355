"""The dataclass that rows, events and messages are made of: fixed for the type checkers only.

Freezing at run time makes every field three times as dear to set, and a step makes some thirty of
these. Nobody may assign to them all the same; mypy and pyright see a frozen dataclass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["replace", "struct"]

if TYPE_CHECKING:
    from dataclasses import dataclass as struct
    from dataclasses import replace
else:
    from dataclasses import dataclass, fields

    def struct(*, frozen: bool, slots: bool, **more: bool) -> object:
        """``dataclass(frozen=True, slots=True)`` to a checker; hashable and mutable here."""
        return dataclass(slots=slots, unsafe_hash=frozen, **more)

    _names: dict[type, tuple[str, ...]] = {}

    def replace(given: object, /, **changes: object) -> object:
        """As ``dataclasses.replace``, without asking for the fields' names each time."""
        kind = type(given)
        names = _names.get(kind)
        if names is None:
            names = _names[kind] = tuple(f.name for f in fields(kind) if f.init)
        values = {name: getattr(given, name) for name in names}
        values.update(changes)
        return kind(**values)
