"""The reading half of the store."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from gateway.engine.kinds import JsonObject, Millis, SessionRef, TurnRow
from gateway.engine.records import (
    Audit,
    AuditEntry,
    EditionRow,
    LoggedEvent,
    MessageRow,
    OpenSession,
    RequestRecord,
    RequestSummary,
    SessionRow,
    SessionSummary,
    StepRow,
    TurnRecord,
    TurnSummary,
)
from gateway.stores.sqlite.readers import Readers
from gateway.stores.sqlite.rows import (
    MESSAGE,
    SQL,
    Row,
    read_edition,
    read_logged,
    read_message,
    read_request,
    read_session,
    read_step,
    read_turn,
)


class ReadingStore:
    """Every read of the seam, one statement each. ``lease`` is how long after its last beat an
    owner counts as alive where no lease is named."""

    lease: Millis
    _readers: Readers

    async def backlog(self, lease: Millis) -> Sequence[OpenSession]:
        return [
            OpenSession(
                ref=SessionRef(row[0], row[1]),
                owner=row[2],
                owner_alive=bool(row[3]),
                resetting=bool(row[4]),
            )
            for row in await self._readers.all(SQL["backlog"], lease)
        ]

    async def due(self, now: Millis) -> Sequence[tuple[SessionRef, RequestRecord]]:
        found = await self._readers.all(SQL["due"], now)
        return [(SessionRef(row[0], row[1]), read_request(row[2:])) for row in found]

    async def session(self, ref: SessionRef) -> SessionRow | None:
        row = await self._readers.one(SQL["find_session"], self.lease, ref.agent, ref.key)
        return read_session(row) if row else None

    async def messages(
        self, ref: SessionRef, generation: int, after: int = -1, limit: int | None = None
    ) -> Sequence[MessageRow]:
        where = (ref.agent, ref.key, generation, after, limit)
        found = await self._readers.all(SQL["messages"], *where)
        return list(map(read_message, found))

    async def turn(self, ref: SessionRef, turn_id: str) -> TurnRecord | None:
        row = await self._readers.one(SQL["find_turn"], ref.agent, ref.key, turn_id)
        return read_turn(row) if row else None

    async def steps(self, turn: TurnRow) -> Sequence[StepRow]:
        return list(map(read_step, await self._readers.all(SQL["steps"], turn)))

    async def requests(self, turn: TurnRow) -> Sequence[RequestRecord]:
        return list(map(read_request, await self._readers.all(SQL["requests"], turn)))

    async def events(
        self, ref: SessionRef, turn: TurnRow, after: int = 0, limit: int = 1000
    ) -> Sequence[LoggedEvent]:
        found = await self._readers.all(SQL["events"], turn, after, limit, ref.agent, ref.key)
        return list(map(read_logged, found))

    async def edition(self, hash: str) -> EditionRow | None:  # noqa: A002 - the seam's name
        row = await self._readers.one(SQL["edition"], hash)
        return read_edition(row) if row else None

    async def find_request(self, id: str) -> RequestSummary | None:  # noqa: A002 - the seam's name
        row = await self._readers.one(SQL["find_request"], id)
        return _request_summary(row) if row else None

    async def list_sessions(
        self, *, agent: str | None = None, status: str | None = None, limit: int = 50
    ) -> Sequence[SessionSummary]:
        found = await self._readers.all(SQL["list_sessions"], self.lease, agent, status, limit)
        return [
            SessionSummary(
                row=read_session(row[:-3]), status=row[-3], turns=row[-2], pending=row[-1]
            )
            for row in found
        ]

    async def list_turns(
        self, *, ref: SessionRef | None = None, state: str | None = None, limit: int = 50
    ) -> Sequence[TurnSummary]:
        if ref is None:
            found = await self._readers.all(SQL["list_turns"], state, limit)
        else:
            found = await self._readers.all(SQL["list_turns_of"], state, limit, ref.agent, ref.key)
        return list(map(_turn_summary, found))

    async def list_requests(self, *, limit: int = 50) -> Sequence[RequestSummary]:
        return list(map(_request_summary, await self._readers.all(SQL["list_requests"], limit)))

    async def list_past_requests(
        self, *, decided: bool, limit: int = 50
    ) -> Sequence[RequestSummary]:
        found = await self._readers.all(SQL["list_past_requests"], decided, limit)
        return list(map(_request_summary, found))

    async def list_audit(
        self,
        *,
        agent: str | None = None,
        session: str | None = None,
        turn_id: str | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> Sequence[AuditEntry]:
        where = (agent, session, turn_id, before, limit)
        return list(map(_audit_entry, await self._readers.all(SQL["list_audit"], *where)))

    async def usage_totals(self, turn: TurnRow) -> JsonObject:
        """Money is summed here and not in SQL, which would do it in binary fractions."""
        found = await self._readers.all(SQL["usage_totals"], turn)
        costs = [Decimal(row[4]) for row in found if row[4] is not None]
        return {
            "input": sum(row[0] for row in found),
            "output": sum(row[1] for row in found),
            "cache_read": sum(row[2] for row in found),
            "cache_write": sum(row[3] for row in found),
            "cost": format(sum(costs, Decimal(0)), "f") if costs else None,
            "calls": len(found),
        }


def _turn_summary(row: Row) -> TurnSummary:
    opening = row[2 : 2 + MESSAGE]
    return TurnSummary(
        ref=SessionRef(row[0], row[1]),
        turn=read_turn(row[2 + MESSAGE :]),
        opening=read_message(opening) if opening[0] is not None else None,
    )


def _request_summary(row: Row) -> RequestSummary:
    return RequestSummary(
        ref=SessionRef(row[0], row[1]), votes=row[2], request=read_request(row[3:])
    )


def _audit_entry(row: Row) -> AuditEntry:
    return AuditEntry(
        number=row[0],
        row=Audit(
            at=row[1],
            kind=row[2],
            agent=row[3],
            session=row[4],
            turn_id=row[5],
            subject=row[6],
            by=row[7],
            digest=row[8],
            outcome=row[9],
        ),
    )
