"""One look at the console: who looks, at what, when."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from aiohttp import web

from gateway.engine.kinds import Json, JsonObject, Millis
from gateway.engine.ports import SessionStore
from gateway.host.api import Api
from gateway.host.console.access.visitor import Visitor
from gateway.host.problems import BadRequestError
from gateway.host.words.names import Names

Row = TypeVar("Row")

PAGE = 50
"""Rows on a page."""
PAGES = 10
"""Pages of one list: who looks for something older looks for it by name."""
WORD = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    api: Api
    request: web.Request
    visitor: Visitor
    now: Millis

    @property
    def store(self) -> SessionStore:
        return self.api.runtime.store

    @property
    def names(self) -> Names:
        return self.api.names

    def word(self, name: str, default: str = "") -> str:
        """A parameter of the address. Raises ``BadRequestError`` for what no link of ours holds."""
        found = self.request.query.get(name, default)
        if len(found) > WORD or not found.isprintable():
            raise BadRequestError(f"?{name} can't be used", fix="follow a link of the page instead")
        return found

    def choice(self, name: str, *values: str) -> str:
        """One of a few words; the first if none of them is given."""
        found = self.word(name)
        return found if found in values else values[0]

    def number(self, name: str) -> int | None:
        found = self.word(name)
        return int(found) if found.isascii() and found.isdigit() and len(found) <= 18 else None

    async def listed(
        self,
        name: str,
        shows: Sequence[str],
        fetch: Callable[[str | None, int], Awaitable[Sequence[Row]]],
        row: Callable[[Row], JsonObject],
    ) -> JsonObject:
        """A list as its address wants it: one page of what ``fetch(state, limit)`` finds, in any state
        where ``all`` are asked for."""
        show = self.choice("show", *shows)
        found, pages = await self.rows(partial(fetch, None if show == "all" else show))
        rows: list[Json] = [self.names.beside(row(one)) for one in found]
        return {"show": show, name: rows, **pages}

    async def rows(
        self, fetch: Callable[[int], Awaitable[Sequence[Row]]]
    ) -> tuple[Sequence[Row], dict[str, int | None]]:
        """One page of what ``fetch(limit)`` lists, and the numbers of the pages beside it."""
        page = min(max(self.number("page") or 1, 1), PAGES)
        found = await fetch(page * PAGE + 1)
        older = page + 1 if len(found) > page * PAGE and page < PAGES else None
        shown = found[(page - 1) * PAGE : page * PAGE]
        return shown, {"page": page, "newer": page - 1 or None, "older": older}
