"""What an open page is sent when it changes: frames for ``live.js``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

__all__ = ["Frames"]


@dataclass(slots=True)
class Frames:
    """What one reader's page shows by now."""

    _parts: dict[str, str] = field(default_factory=dict[str, str])
    _rows: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])

    def part(self, name: str, html: str) -> Iterator[bytes]:
        if self._parts.get(name) != html:
            self._parts[name] = html
            yield _frame("swap", html=html)

    def rows(self, name: str, drawn: Mapping[str, str], whole: str) -> Iterator[bytes]:
        """A list, row by row while rows only come and change: who reads or types in one isn't disturbed.
        ``whole`` is all of it."""
        before = self._rows.get(name)
        self._rows[name] = {**drawn}
        if before is None or [*drawn][: len(before)] != [*before]:
            yield _frame("swap", html=whole)
            return
        for key, html in drawn.items():
            if before.get(key) != html:
                yield _frame("append", to=name, html=html)


def _frame(event: str, **told: str) -> bytes:
    return f"event: {event}\ndata: {json.dumps(told)}\n\n".encode()
