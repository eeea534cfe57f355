"""The reading half of the store: one statement per question."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from gateway.engine.kinds import JsonObject, Millis, SessionRef, TurnRow
from gateway.engine.records import (
    Ask,
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
from gateway.stores.postgres.link import Link
from gateway.stores.postgres.rows import (
    audit_from,
    due_request_from,
    events_from,
    message_from,
    open_session_from,
    request_from,
    request_summary_from,
    session_from,
    session_summary_from,
    step_from,
    turn_from,
    turn_summary_from,
)
from gateway.stores.postgres.text import key, optional, restored, storable
from gateway.stores.sql import load_queries

SQL = load_queries("postgres")


class Reads:
    """``lease`` is how long after its last beat an owner counts as alive where none is named."""

    def __init__(self, link: Link, lease: Millis) -> None:
        self._link = link
        self.lease = lease

    async def backlog(self, lease: Millis) -> Sequence[OpenSession]:
        return [open_session_from(row) for row in await self._link.fetch(SQL["backlog"], lease)]

    async def due(self, now: Millis) -> Sequence[tuple[SessionRef, RequestRecord]]:
        return [due_request_from(row) for row in await self._link.fetch(SQL["due"], now)]

    async def session(self, ref: SessionRef) -> SessionRow | None:
        row = await self._link.fetchrow(SQL["find_session"], self.lease, *address(ref))
        return session_from(row) if row is not None else None

    async def messages(
        self, ref: SessionRef, generation: int, after: int = -1, limit: int | None = None
    ) -> Sequence[MessageRow]:
        where = (*address(ref), generation, after, limit)
        found = await self._link.fetch(SQL["messages"], *where)
        return [message_from(row) for row in found]

    async def turn(self, ref: SessionRef, turn_id: str) -> TurnRecord | None:
        row = await self._link.fetchrow(SQL["find_turn"], *address(ref), key(turn_id, "a turn id"))
        return turn_from(row) if row is not None else None

    async def steps(self, turn: TurnRow) -> Sequence[StepRow]:
        return [step_from(row) for row in await self._link.fetch(SQL["steps"], turn)]

    async def requests(self, turn: TurnRow) -> Sequence[RequestRecord]:
        return [request_from(row) for row in await self._link.fetch(SQL["requests"], turn)]

    async def events(
        self, ref: SessionRef, turn: TurnRow, after: int = 0, limit: int = 1000
    ) -> Sequence[LoggedEvent]:
        return events_from(await self._link.fetch(SQL["events"], turn, after, limit, *address(ref)))

    async def edition(self, hash: str) -> EditionRow | None:  # noqa: A002 - the seam's name
        row = await self._link.fetchrow(SQL["edition"], storable(hash))
        return None if row is None else EditionRow(hash=hash, body=restored(row[1]))

    async def find_request(self, id: str) -> RequestSummary | None:  # noqa: A002 - the seam's name
        row = await self._link.fetchrow(SQL["find_request"], storable(id))
        return request_summary_from(row) if row is not None else None

    async def list_sessions(
        self, *, agent: str | None = None, status: str | None = None, limit: int = 50
    ) -> Sequence[SessionSummary]:
        agent = None if agent is None else key(agent, "an agent's name")
        found = await self._link.fetch(SQL["list_sessions"], self.lease, agent, status, limit)
        return [session_summary_from(row) for row in found]

    async def list_turns(
        self, *, ref: SessionRef | None = None, state: str | None = None, limit: int = 50
    ) -> Sequence[TurnSummary]:
        if ref is None:
            found = await self._link.fetch(SQL["list_turns"], state, limit)
        else:
            found = await self._link.fetch(SQL["list_turns_of"], state, limit, *address(ref))
        return [turn_summary_from(row) for row in found]

    async def list_requests(self, *, limit: int = 50) -> Sequence[RequestSummary]:
        found = await self._link.fetch(SQL["list_requests"], limit)
        return [request_summary_from(row) for row in found]

    async def list_past_requests(
        self, *, decided: bool, limit: int = 50
    ) -> Sequence[RequestSummary]:
        found = await self._link.fetch(SQL["list_past_requests"], decided, limit)
        return [request_summary_from(row) for row in found]

    async def list_audit(
        self,
        *,
        agent: str | None = None,
        session: str | None = None,
        turn_id: str | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> Sequence[AuditEntry]:
        words = [optional(one) for one in (agent, session, turn_id)]
        found = await self._link.fetch(SQL["list_audit"], *words, before, limit)
        return [audit_from(row) for row in found]

    async def usage_totals(self, turn: TurnRow) -> JsonObject:
        (row,) = await self._link.fetch(SQL["usage_totals"], turn)
        names = ("input", "output", "cache_read", "cache_write", "cost", "calls")
        return dict(zip(names, row, strict=True))


def address(ref: SessionRef) -> tuple[str, str]:
    return key(ref.agent, "an agent's name"), key(ref.key, "a session key")


@functools.cache
def view_query(ask: Ask) -> tuple[str, tuple[str, ...]]:
    """The statement that shows what a decision asked for, and which of the ask's fields are its
    arguments from ``$5`` on. ``ask`` must come stripped of its values."""
    chosen, wanted = "", list[str]()
    if ask.turn_id is not None:
        chosen = SQL["view_chosen_by_id"]
        wanted.append("turn_id")
    elif ask.head:
        chosen = SQL["view_chosen_head"]
    tail = chosen and ask.tail
    parts = {
        "chosen": chosen,
        "turn": SQL["view_turn"] if chosen else "NULL",
        "tail": SQL["view_tail"] if tail else "NULL",
        "steps": SQL["view_steps"] if tail else "NULL",
        "request": SQL["view_request"] if ask.request is not None else "NULL",
        "votes": SQL["view_votes"] if ask.request is not None else "NULL",
    }
    if ask.request is not None:
        wanted.append("request")
    sql = SQL["view"]
    for name, part in parts.items():
        sql = sql.replace(f"<{name}>", part)
    for number, name in enumerate(wanted, 5):
        sql = sql.replace(f":{name}", f"${number}")
    return sql, tuple(wanted)
