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
    import dataclasses
    from dataclasses import dataclass, fields
    from functools import partial

    def struct(*, frozen: bool, slots: bool, **more: bool) -> object:
        """``dataclass(frozen=True, slots=True)`` to a checker; hashable and mutable here."""
        return dataclass(slots=slots, unsafe_hash=frozen, **more)

    _copiers: dict[type, object] = {}

    def replace(given: object, /, **changes: object) -> object:
        """As ``dataclasses.replace``, at a quarter of its price for what ``struct`` made. Another
        frozen dataclass can't be assigned to, and goes the slow way."""
        kind = type(given)
        copier = _copiers.get(kind)
        if copier is None:
            if kind.__dataclass_params__.frozen:
                return dataclasses.replace(given, **changes)
            copier = _copiers[kind] = _copier(kind)
        made = copier(given)
        for name, value in changes.items():
            setattr(made, name, value)
        if hasattr(made, "__post_init__"):
            made.__post_init__()
        return made

    def _copier(kind: type) -> object:
        """Spelled out field by field, as ``dataclass`` spells out ``__init__``: a loop over names
        would take as long as ``__init__`` itself. What ``__init__`` doesn't take begins anew."""
        lines = [
            f" made.{f.name} = " + (f"given.{f.name}" if f.init else repr(f.default))
            for f in fields(kind)
        ]
        names = {"new": partial(object.__new__, kind)}
        source = "\n".join(["def copier(given):", " made = new()", *lines, " return made"])
        exec(source, names)  # noqa: S102 - of names that are in our own classes
        return names["copier"]
