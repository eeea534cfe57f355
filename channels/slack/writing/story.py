"""A turn's events on their way into a document, while somebody else reads it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from channels.protocol import TurnStream
from channels.slack.words.doc import Doc, fold
from gateway.engine.limits import Waits


class Story:
    """``over``: no more events come, because the turn rests or because ``error`` broke the stream."""

    def __init__(self, titles: Mapping[str, str], waits: Waits) -> None:
        self.doc = Doc()
        self.over = False
        self.error: Exception | None = None
        self._titles = titles
        self._waits = waits
        self._news = asyncio.Event()

    async def follow(self, events: TurnStream) -> None:
        try:
            async for event in events:
                after = fold(self.doc, event, self._titles)
                if after != self.doc:
                    self.doc = after
                    self._news.set()
        except Exception as error:  # noqa: BLE001 - whoever reads the document has to know
            self.error = error
        finally:
            self.over = True
            self._news.set()

    async def heard(self, seconds: float | None) -> None:
        """Wait for news since the last time, so many seconds at most."""
        if seconds is None:
            await self._news.wait()
        elif seconds > 0:
            try:
                async with self._waits.timeout(seconds):
                    await self._news.wait()
            except TimeoutError:
                return
        self._news.clear()
