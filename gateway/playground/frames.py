"""What an open page is sent when it changes: frames for ``live.js``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

__all__ = ["Frames", "changes"]

LOOK_EVERY = 1.0
"""Seconds after which a reader's page is compared though nothing stirred outside: turns go on, too."""
SETTLE = 0.04
"""Seconds in which changes are gathered before they are sent."""


async def changes(
    watchers: list[Callable[[], None]], drawn: Callable[[], Awaitable[bytes]]
) -> AsyncIterator[bytes]:
    """What a page has to be sent, whenever something of it changed. ``watchers`` are told of what stirs."""
    stirred = asyncio.Event()
    watchers.append(stirred.set)
    try:
        while True:
            stirred.clear()
            if changed := await drawn():
                yield changed
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY):
                    await stirred.wait()
            await asyncio.sleep(SETTLE)
    finally:
        watchers.remove(stirred.set)


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
