"""The seam's ledger half on PostgreSQL.

Whatever a host may do to a row of another's, it does by one statement that names the row's token and
state, and rows that somebody is about to take are passed over, never waited for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import cast

from gateway.engine.errors import LeaseLostError, WriteConflictError
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
from gateway.engine.struct import replace
from gateway.engine.wire.text import dumps
from gateway.stores.postgres.ledger.rows import (
    binding_columns,
    delivery_from,
    document_from,
    file_cells,
    inbox_from,
    installation_cells,
    installation_from,
    known_from,
    occurrence_from,
    part_columns,
    verdict_from,
)
from gateway.stores.postgres.ledger.ways import first_places
from gateway.stores.postgres.link import RERUNS, Link, beaten, pause
from gateway.stores.postgres.rows import Cells
from gateway.stores.postgres.text import optional, storable
from gateway.stores.postgres.writes import SQL, loose, settled


class PostgresLedger:
    """``gateway.engine.ledger.Ledger``; its promises stand there."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def _all(self, query: str, *values: object) -> list[Cells]:
        return await self._link.fetch(SQL[query], *values)

    async def _one(self, query: str, *values: object) -> Cells | None:
        return await self._link.fetchrow(SQL[query], *values)

    async def _write(self, query: str, *values: object) -> list[Cells]:
        return await self._link.write(SQL[query], *values)

    # -- the way in ----------------------------------------------------------------------------
    async def known(self, ask: Asked) -> Known:
        given = (_listed(ask.places), _listed(ask.keys), _listed(ask.pairs))
        found = await self._all("known", storable(ask.source), storable(ask.event_id), *given)
        return known_from(found[0])

    async def note(self, rows: Sequence[Companion]) -> None:
        statement = loose(rows)
        await self._link.write(statement.sql, *statement.arguments)

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
        words = [optional(word) for word in (source, event, place, turn_id)]
        found = await self._all(query, *words, limit, optional(verdict))
        return [verdict_from(row) for row in found]

    async def take_inbox(
        self, owner: str, now: Millis, lease: Millis, limit: int
    ) -> Sequence[InboxRow]:
        taken = await self._write("take_inbox", now, limit, storable(owner), lease)
        return [inbox_from(row) for row in taken]

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
        statement = settled(row, state, next_try, error, rows)
        (answer,) = await self._link.write(statement.sql, *statement.arguments)
        if not answer[0]:
            raise LeaseLostError

    # -- the way out ---------------------------------------------------------------------------
    async def claim(
        self, owner: str, sources: Collection[str], now: Millis, lease: Millis, limit: int
    ) -> Sequence[Delivery]:
        among = _listed(sources)
        await self._write("wake_reminded", now, among)
        taken = await self._claimed(now, among, limit, storable(owner), lease)
        if not taken:
            return []
        rows = await self._all("deliveries_by_id", [row for row, *_ in taken])
        made = {delivery.id: delivery for delivery in map(delivery_from, rows)}
        # The token is the one that was given here, should the row be somebody else's by now.
        return [
            replace(made[row], token=token, recovered=cut)
            for row, token, cut in taken
            if row in made
        ]

    async def _claimed(self, *values: object) -> list[Cells]:
        """Who saw another head of the lane than a host that was quicker looks again."""
        for number in range(RERUNS):
            with suppress(WriteConflictError):
                return await self._write("claim", *values)
            await pause(number)
        raise beaten()

    async def renew(self, held: Sequence[tuple[int, int]], lease: Millis) -> Collection[int]:
        if not held:
            return set[int]()
        rows, tokens = [row for row, _ in held], [token for _, token in held]
        return {row for (row,) in await self._write("renew", rows, tokens, lease)}

    async def journal(self, token: int, parts: Sequence[Part]) -> int:
        if len({part.delivery for part in parts}) != 1:
            raise ValueError("a journal entry is about the parts of one delivery")
        held = await self._write("journal", parts[0].delivery, token, *part_columns(parts))
        if not held:
            raise LeaseLostError
        return cast("int", held[0][0])

    async def settle(self, receipt: Receipt) -> Delivery:
        given = (
            *(receipt.delivery, receipt.token, receipt.satisfied, receipt.state, receipt.seq),
            *(
                optional(receipt.hash),
                optional(receipt.ref),
                optional(receipt.lane),
                receipt.next_try,
            ),
            *(optional(receipt.error), optional(receipt.revive_on), receipt.remind_at),
        )
        places = binding_columns(first_places(receipt.places))
        held = await self._write("settle", *given, *places)
        if not held:
            raise LeaseLostError
        return delivery_from(held[0])

    async def next_due(self, sources: Collection[str]) -> Millis | None:
        found = await self._all("next_due", _listed(sources))
        return cast("Millis | None", found[0][0])

    async def deliveries(
        self, *, state: DeliveryState | None = None, turn_id: str | None = None, limit: int = 50
    ) -> Sequence[Delivery]:
        if turn_id is not None:
            rows = await self._all("deliveries_of_turn", state, limit, storable(turn_id))
        elif state == "dead":
            rows = await self._all("dead_deliveries", limit)
        else:
            rows = await self._all("deliveries", state, limit)
        return [delivery_from(row) for row in rows]

    async def delivery(self, id: int) -> Delivery | None:  # noqa: A002 - the seam's name
        row = await self._one("deliveries_by_id", [id])
        return None if row is None else delivery_from(row)

    async def shown_at(self, source: str, ref: str) -> Delivery | None:
        row = await self._one("shown_at", storable(source), storable(ref))
        return None if row is None else delivery_from(row)

    async def retry(
        self,
        *,
        id: int | None = None,  # noqa: A002 - the seam's name
        revive_on: str | None = None,
        now: Millis,
    ) -> int:
        if id is None and revive_on is None:
            raise ValueError("say which: the delivery's id, or what it waits for")
        return _count(await self._write("retry", id, optional(revive_on), now))

    async def fail(self, id: int, part: int, error: str) -> DeliveryState | None:  # noqa: A002 - as above
        held = await self._write("fail", id, part, storable(error))
        return cast("DeliveryState", held[0][0]) if held else None

    # -- shared --------------------------------------------------------------------------------
    async def hold(self, name: str, owner: str, lease: Millis) -> bool:
        return bool(await self._write("hold", storable(name), storable(owner), lease))

    async def let_go(self, name: str, owner: str) -> None:
        await self._write("let_go", storable(name), storable(owner))

    async def installation(self, key: str) -> Installation | None:
        row = await self._one("installation", storable(key))
        return None if row is None else installation_from(row)

    async def installations(self, app: str) -> Sequence[Installation]:
        return [installation_from(row) for row in await self._all("installations", storable(app))]

    async def save_installation(self, row: Installation, expected: int | None) -> bool:
        query = "insert_installation" if expected is None else "save_installation"
        version = (expected or 0) + 1
        return bool(await self._write(query, *installation_cells(row), version))

    async def keep_file(self, row: FileRow, body: bytes) -> None:
        await self._write("keep_file", *file_cells(row), body)

    async def file(self, id: str) -> bytes | None:  # noqa: A002 - the seam's name
        row = await self._one("file", storable(id))
        return None if row is None else row[0]

    async def document(self, kind: str, key: str) -> Document | None:
        row = await self._one("document", storable(kind), storable(key))
        return None if row is None else document_from(row)

    async def documents(self, kind: str, limit: int = 200) -> Sequence[Document]:
        return [document_from(row) for row in await self._all("documents", storable(kind), limit)]

    async def put_document(self, row: Document, expected: int | None) -> bool:
        query = "insert_document" if expected is None else "save_document"
        name = (storable(row.kind), storable(row.key))
        body = storable(dumps(row.body))
        return bool(await self._write(query, *name, (expected or 0) + 1, body, row.expires))

    async def drop_document(self, kind: str, key: str, expected: int | None = None) -> bool:
        return bool(await self._write("drop_document", storable(kind), storable(key), expected))

    async def occurrences(
        self, agent: str, schedule: str | None = None, limit: int = 50
    ) -> Sequence[OccurrenceRow]:
        if schedule is None:
            rows = await self._all("occurrences", storable(agent), limit)
        else:
            rows = await self._all("occurrences_of", storable(agent), storable(schedule), limit)
        return [occurrence_from(row) for row in rows]

    async def forget(self, before: Retention) -> int:
        """Each kind by itself: what is old stays old, and none holds up another."""
        gone = 0
        for name, end in (
            ("claims", before.claims),
            ("verdicts", before.verdicts),
            ("inbox", before.inbox),
            ("deliveries", before.deliveries),
            ("places", before.places),
            ("pairs", before.pairs),
            ("files", before.files),
            ("documents", before.documents),
            ("occurrences", before.occurrences),
        ):
            gone += _count(await self._write(f"forget_{name}", end, before.limit))
        return gone


def _listed(words: Iterable[str]) -> list[str]:
    return [storable(word) for word in words]


def _count(rows: list[Cells]) -> int:
    return cast("int", rows[0][0])
