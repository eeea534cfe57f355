"""The seam's ledger half on one file."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import cast

from gateway.engine.kinds import Millis
from gateway.engine.ledger import (
    Asked,
    Delivery,
    DeliveryState,
    Document,
    FileRow,
    InboxRow,
    Installation,
    Known,
    OccurrenceRow,
    Part,
    Receipt,
    Retention,
    VerdictRow,
)
from gateway.engine.records import Companion
from gateway.stores.sqlite.batch import Batch
from gateway.stores.sqlite.ledger import work
from gateway.stores.sqlite.ledger.rows import (
    listed,
    read_deliveries,
    read_document,
    read_installation,
    read_known,
    read_occurrence,
    read_verdict,
)
from gateway.stores.sqlite.readers import Readers
from gateway.stores.sqlite.rows import SQL, Row
from gateway.stores.sqlite.writer import Piece

Run = Callable[[Callable[[asyncio.Future[object], Batch], Piece]], Awaitable[object]]
"""Hands the writer a piece, made of what it is given, and waits for its result."""


class SqliteLedger:
    """``gateway.engine.ledger.Ledger``; its promises stand there."""

    def __init__(self, readers: Callable[[], Readers], run: Run) -> None:
        self._readers = readers
        self._run = run

    async def _all(self, query: str, *values: object) -> list[Row]:
        return await self._readers().all(SQL[query], *values)

    async def _one(self, query: str, *values: object) -> Row | None:
        return await self._readers().one(SQL[query], *values)

    async def _act(self, act: work.Act) -> object:
        return await self._run(lambda future, batch: work.Work(future, act, batch))

    async def _keep(self, rows: Sequence[Companion], first: work.Act | None = None) -> None:
        await self._run(lambda future, batch: work.Noting(future, rows, batch, first))

    # -- the way in ----------------------------------------------------------------------------
    async def known(self, ask: Asked) -> Known:
        given = (ask.source, ask.event_id, listed(ask.places), listed(ask.keys), listed(ask.pairs))
        return read_known(await self._readers().few(SQL["known"], *given))

    async def note(self, rows: Sequence[Companion]) -> None:
        await self._keep(rows)

    async def verdicts(
        self,
        *,
        source: str | None = None,
        event: str | None = None,
        place: str | None = None,
        turn_id: str | None = None,
        verdict: str | None = None,
        limit: int = 50,
    ) -> Sequence[VerdictRow]:
        query = "verdicts"
        if source is not None and event is not None:
            query = "verdict_of_event"
        elif place is not None:
            query = "verdicts_at_place"
        elif turn_id is not None:
            query = "verdicts_of_turn"
        given = (source, event, place, turn_id, limit, verdict)
        return [read_verdict(row) for row in await self._all(query, *given)]

    async def take_inbox(
        self, owner: str, now: Millis, lease: Millis, limit: int
    ) -> Sequence[InboxRow]:
        act = partial(work.take_inbox, owner=owner, now=now, lease=lease, limit=limit)
        return cast("list[InboxRow]", await self._act(act))

    async def settle_inbox(
        self,
        row: InboxRow,
        done: bool,
        next_try: Millis | None,
        rows: Sequence[Companion] = (),
        *,
        error: str | None = None,
    ) -> None:
        state = "done" if done else "dead" if next_try is None else "due"
        settled = partial(work.settle_inbox, row=row, state=state, next_try=next_try, error=error)
        await self._keep(rows, settled)

    # -- the way out ---------------------------------------------------------------------------
    async def claim(
        self, owner: str, sources: Collection[str], now: Millis, lease: Millis, limit: int
    ) -> Sequence[Delivery]:
        act = partial(
            work.claim, owner=owner, sources=listed(sources), now=now, lease=lease, limit=limit
        )
        return cast("list[Delivery]", await self._act(act))

    async def renew(self, held: Sequence[tuple[int, int]], lease: Millis) -> Collection[int]:
        if not held:
            return set[int]()
        act = partial(work.renew, held=tuple(held), lease=lease)
        return cast("set[int]", await self._act(act))

    async def journal(self, token: int, parts: Sequence[Part]) -> int:
        if len({part.delivery for part in parts}) != 1:
            raise ValueError("a journal entry is about the parts of one delivery")
        act = partial(work.journal, token=token, parts=tuple(parts))
        return cast("int", await self._act(act))

    async def settle(self, receipt: Receipt) -> Delivery:
        return cast("Delivery", await self._act(partial(work.settle, receipt=receipt)))

    async def next_due(self, sources: Collection[str]) -> Millis | None:
        ((due,),) = await self._all("next_due", listed(sources))
        return cast("Millis | None", due)

    async def deliveries(
        self, *, state: DeliveryState | None = None, turn_id: str | None = None, limit: int = 50
    ) -> Sequence[Delivery]:
        if turn_id is not None:
            given = (state, limit, turn_id)
            rows = await self._all("deliveries_of_turn", *given)
        else:
            query = "dead_deliveries" if state == "dead" else "deliveries"
            rows = await self._all(query, state, limit)
        return read_deliveries(rows)

    async def delivery(self, id: int) -> Delivery | None:  # noqa: A002 - the seam's name
        rows = await self._all("deliveries_by_id", listed([id]))
        return next(iter(read_deliveries(rows)), None)

    async def shown_at(self, source: str, ref: str) -> Delivery | None:
        rows = await self._all("shown_at", source, ref)
        return next(iter(read_deliveries(rows)), None)

    async def retry(
        self,
        *,
        id: int | None = None,  # noqa: A002 - the seam's name
        revive_on: str | None = None,
        now: Millis,
    ) -> int:
        if id is None and revive_on is None:
            raise ValueError("say which: the delivery's id, or what it waits for")
        act = partial(work.retry, delivery=id, revive_on=revive_on, now=now)
        return cast("int", await self._act(act))

    async def fail(self, id: int, part: int, error: str) -> DeliveryState | None:  # noqa: A002 - as above
        act = partial(work.fail, delivery=id, part=part, error=error)
        return cast("DeliveryState | None", await self._act(act))

    # -- shared --------------------------------------------------------------------------------
    async def hold(self, name: str, owner: str, lease: Millis) -> bool:
        act = partial(work.hold, name=name, owner=owner, lease=lease)
        return cast("bool", await self._act(act))

    async def let_go(self, name: str, owner: str) -> None:
        await self._act(partial(work.let_go, name=name, owner=owner))

    async def installation(self, key: str) -> Installation | None:
        row = await self._one("installation", key)
        return read_installation(row) if row else None

    async def installations(self, app: str) -> Sequence[Installation]:
        return [read_installation(row) for row in await self._all("installations", app)]

    async def save_installation(self, row: Installation, expected: int | None) -> bool:
        act = partial(work.save_installation, row=row, expected=expected)
        return cast("bool", await self._act(act))

    async def keep_file(self, row: FileRow, body: bytes) -> None:
        await self._act(partial(work.keep_file, row=row, body=body))

    async def file(self, id: str) -> bytes | None:  # noqa: A002 - the seam's name
        rows = await self._all("file", id)  # its bytes are many
        return rows[0][0] if rows else None

    async def document(self, kind: str, key: str) -> Document | None:
        row = await self._one("document", kind, key)
        return read_document(row) if row else None

    async def documents(self, kind: str, limit: int = 200) -> Sequence[Document]:
        return [read_document(row) for row in await self._all("documents", kind, limit)]

    async def put_document(self, row: Document, expected: int | None) -> bool:
        act = partial(work.put_document, row=row, expected=expected)
        return cast("bool", await self._act(act))

    async def drop_document(self, kind: str, key: str, expected: int | None = None) -> bool:
        act = partial(work.drop_document, kind=kind, key=key, expected=expected)
        return cast("bool", await self._act(act))

    async def occurrences(
        self, agent: str, schedule: str | None = None, limit: int = 50
    ) -> Sequence[OccurrenceRow]:
        if schedule is None:
            rows = await self._all("occurrences", agent, limit)
        else:
            rows = await self._all("occurrences_of", agent, schedule, limit)
        return [read_occurrence(row) for row in rows]

    async def forget(self, before: Retention) -> int:
        return cast("int", await self._act(partial(work.forget, before=before)))
