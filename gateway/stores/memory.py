"""``memory://``: the whole seam in dictionaries, for tests and first steps.

It keeps nothing and can't take back what a tool did: no rollback, so no exactly-once. A refused
write leaves nothing all the same, because it is checked whole before a row changes, and nothing
awaits in between.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TypeVar

from gateway.engine.errors import StaleAttemptError, StoreUnavailableError
from gateway.engine.kinds import JsonObject, Millis, SessionRef, TurnRow
from gateway.engine.ledger import Ledger
from gateway.engine.ports import StoreCapabilities
from gateway.engine.records import (
    Ask,
    AuditEntry,
    EditionRow,
    Fence,
    LocalCall,
    LoggedEvent,
    MessageRow,
    OpenSession,
    Plan,
    RequestRecord,
    RequestSummary,
    SessionRow,
    SessionSummary,
    SessionView,
    StepRow,
    TurnHead,
    TurnRecord,
    TurnSummary,
    Writes,
)
from gateway.stores.memory_ledger import MemoryLedger
from gateway.stores.memory_tables import SessionTable, Tables, TurnTable

T = TypeVar("T")


class MemoryStore:
    """A session store that lives and dies with the process.

    ``lease`` is how long after its last beat an owner counts as alive where no lease is named.
    """

    def __init__(self, *, lease: Millis = Millis(30_000)) -> None:
        self.seam_version = 2
        self.dialect = "memory"
        self.capabilities = StoreCapabilities(
            rollback=False, durable=False, handle=False, shared=False
        )
        self.lease = lease
        self._tables = Tables()
        self.ledger: Ledger = MemoryLedger(self._tables, self._take_turns)
        self._beats: dict[str, float] = {}
        self._opened = False

    async def open(self) -> None:
        self._tables.ledger.void()
        self._opened = True

    async def close(self) -> None:
        self._opened = False

    # -- writes --------------------------------------------------------------------------------
    async def amend(self, ref: SessionRef, ask: Ask, decide: Callable[[SessionView], Plan[T]]) -> T:
        await self._take_turns()
        session = self._tables.sessions.get(ref)
        created = session is None and ask.create
        if session is None and created:
            session = self._tables.draft_session(ref)
        plan = decide(self._view(session, ask))
        row = self._tables.apply(session, plan.writes)
        if session is not None and created:
            self._tables.keep_session(session)
        return plan.result if plan.named is None else plan.named(plan.result, row)

    async def commit(self, fence: Fence, writes: Writes) -> None:
        await self._take_turns()
        self._tables.apply(self._fenced(fence), writes)

    async def run_local(self, fence: Fence, call: LocalCall) -> None:
        await self._take_turns()
        session = self._fenced(fence)
        result: object = None
        error: BaseException | None = None
        try:
            result = call.run(None)
        except BaseException as exc:  # noqa: BLE001 - whatever a tool raises is its result
            error = exc
        self._tables.apply(session, call.settle(result, error))

    async def beat(self, owner: str) -> None:
        self._check_open()
        self._beats[owner] = time.monotonic()

    def _check_open(self) -> None:
        if not self._opened:
            raise StoreUnavailableError("the store is not open")

    async def _take_turns(self) -> None:
        """Let others run, as a store that really waits for its backend would."""
        self._check_open()
        await asyncio.sleep(0)
        self._check_open()

    def _fenced(self, fence: Fence) -> SessionTable:
        session = self._tables.by_id.get(fence.session)
        if session is None or session.epoch != fence.epoch:
            raise StaleAttemptError
        return session

    def _alive(self, owner: str | None, lease: Millis) -> bool:
        beat = self._beats.get(owner) if owner is not None else None
        return beat is not None and (time.monotonic() - beat) * 1000 < lease

    def _row(self, session: SessionTable) -> SessionRow:
        return SessionRow(
            id=session.id,
            ref=session.ref,
            generation=session.generation,
            epoch=session.epoch,
            owner=session.owner,
            owner_alive=self._alive(session.owner, self.lease),
            next_index=session.next_index,
            next_number=session.next_number,
            reset_at=session.reset_at,
            created_at=session.created_at,
            active_at=session.active_at,
        )

    def _view(self, session: SessionTable | None, ask: Ask) -> SessionView:
        if session is None:
            return SessionView(session=None)
        heads = session.open
        turn = None
        if ask.turn_id is not None:
            turn = session.turns.get(ask.turn_id)
        elif ask.head and heads:
            turn = heads[0]
        request = None
        if ask.request is not None:
            found = self._request(ask.request)
            request = found[1] if found and found[0].session is session else None
        return SessionView(
            session=self._row(session),
            open=tuple(_head(one) for one in heads),
            turn=turn.read if turn else None,
            tail=_tail(session, turn) if turn and ask.tail else (),
            steps=tuple(turn.steps.values()) if turn and ask.tail else (),
            request=request,
            votes=tuple(self._tables.votes.get(request.id, ())) if request else (),
        )

    # -- reads ---------------------------------------------------------------------------------
    async def backlog(self, lease: Millis) -> Sequence[OpenSession]:
        self._check_open()
        return [
            OpenSession(
                ref=session.ref,
                owner=session.owner,
                owner_alive=self._alive(session.owner, lease),
                resetting=session.reset_at is not None,
            )
            for session in self._tables.sessions.values()
            if session.reset_at is not None
            or any(turn.record.state != "suspended" for turn in session.open[:1])
        ]

    async def due(self, now: Millis) -> Sequence[tuple[SessionRef, RequestRecord]]:
        self._check_open()
        waiting = [(t.session.ref, r) for t, r in self._parked() if r.expires_at is not None]
        return [(ref, request) for ref, request in waiting if (request.expires_at or 0) <= now]

    async def session(self, ref: SessionRef) -> SessionRow | None:
        self._check_open()
        session = self._tables.sessions.get(ref)
        return self._row(session) if session else None

    async def messages(
        self, ref: SessionRef, generation: int, after: int = -1, limit: int | None = None
    ) -> Sequence[MessageRow]:
        self._check_open()
        session = self._tables.sessions.get(ref)
        rows = session.messages.get(generation, {}) if session else {}
        return [rows[index] for index in sorted(rows) if index > after][:limit]

    async def turn(self, ref: SessionRef, turn_id: str) -> TurnRecord | None:
        self._check_open()
        session = self._tables.sessions.get(ref)
        turn = session.turns.get(turn_id) if session else None
        return turn.read if turn else None

    async def steps(self, turn: TurnRow) -> Sequence[StepRow]:
        self._check_open()
        table = self._tables.turns.get(turn)
        return list(table.steps.values()) if table else []

    async def requests(self, turn: TurnRow) -> Sequence[RequestRecord]:
        self._check_open()
        table = self._tables.turns.get(turn)
        return list(table.requests.values()) if table else []

    async def events(
        self, ref: SessionRef, turn: TurnRow, after: int = 0, limit: int = 1000
    ) -> Sequence[LoggedEvent]:
        self._check_open()
        table = self._tables.turns.get(turn)
        if table is None or table.session.ref != ref:
            return []
        rows = [table.events[seq] for seq in sorted(table.events) if seq > after][:limit]
        messages = table.session.messages.get(table.record.generation, {})
        return [
            LoggedEvent(
                event=row,
                message=messages.get(row.ref) if row.ref is not None else None,
                usage=table.usage.get(row.ref) if row.ref is not None else None,
            )
            for row in rows
        ]

    async def edition(self, hash: str) -> EditionRow | None:  # noqa: A002 - the seam's name
        self._check_open()
        body = self._tables.editions.get(hash)
        return None if body is None else EditionRow(hash=hash, body=body)

    async def find_request(self, id: str) -> RequestSummary | None:  # noqa: A002 - the seam's name
        self._check_open()
        found = self._request(id)
        return self._summary(*found) if found else None

    async def list_sessions(
        self, *, agent: str | None = None, status: str | None = None, limit: int = 50
    ) -> Sequence[SessionSummary]:
        self._check_open()
        found = [
            SessionSummary(
                row=self._row(session),
                status=_status(session),
                turns=session.next_number - 1,
                pending=_pending(session),
            )
            for session in self._tables.sessions.values()
            if agent is None or session.ref.agent == agent
        ]
        found = [row for row in found if status is None or row.status == status]
        found.sort(key=lambda row: (row.row.active_at, row.row.id), reverse=True)
        return found[:limit]

    async def list_turns(
        self, *, ref: SessionRef | None = None, state: str | None = None, limit: int = 50
    ) -> Sequence[TurnSummary]:
        self._check_open()
        found = [
            TurnSummary(ref=turn.session.ref, turn=turn.read, opening=_opening(turn))
            for turn in reversed(self._tables.turns.values())
            if (ref is None or turn.session.ref == ref)
            and (state is None or turn.record.state == state)
        ]
        return found[:limit]

    async def list_requests(self, *, limit: int = 50) -> Sequence[RequestSummary]:
        self._check_open()
        found = sorted(self._parked(), key=lambda pair: pair[1].created_at)
        return [self._summary(*pair) for pair in found[:limit]]

    async def list_past_requests(
        self, *, decided: bool, limit: int = 50
    ) -> Sequence[RequestSummary]:
        self._check_open()
        found = [
            (turn, request)
            for turn in self._tables.turns.values()
            for request in turn.requests.values()
            if request.outcome is not None
            and (request.outcome not in {"expired", "cancelled"}) == decided
        ]
        found.sort(key=lambda pair: pair[1].created_at, reverse=True)
        return [self._summary(*pair) for pair in found[:limit]]

    async def list_audit(
        self,
        *,
        agent: str | None = None,
        session: str | None = None,
        turn_id: str | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> Sequence[AuditEntry]:
        self._check_open()
        found = [
            AuditEntry(number=number, row=row)
            for number, row in enumerate(self._tables.audit(), 1)
            if (before is None or number < before)
            and agent in {None, row.agent}
            and session in {None, row.session}
            and turn_id in {None, row.turn_id}
        ]
        return found[::-1][:limit]

    async def usage_totals(self, turn: TurnRow) -> JsonObject:
        self._check_open()
        table = self._tables.turns.get(turn)
        rows = list(table.usage.values()) if table else []
        costs = [Decimal(row.cost) for row in rows if row.cost is not None]
        return {
            "input": sum(row.input for row in rows),
            "output": sum(row.output for row in rows),
            "cache_read": sum(row.cache_read for row in rows),
            "cache_write": sum(row.cache_write for row in rows),
            "cost": format(sum(costs, Decimal(0)), "f") if costs else None,
            "calls": len(rows),
        }

    def _request(self, public: str) -> tuple[TurnTable, RequestRecord] | None:
        for turn in self._tables.turns.values():
            for request in turn.requests.values():
                if request.id == public:
                    return turn, request
        return None

    def _parked(self) -> list[tuple[TurnTable, RequestRecord]]:
        return [
            (turn, request)
            for turn in self._tables.turns.values()
            if turn.record.state == "suspended"
            for request in turn.requests.values()
            if request.outcome is None
        ]

    def _summary(self, turn: TurnTable, request: RequestRecord) -> RequestSummary:
        votes = len(self._tables.votes.get(request.id, ()))
        return RequestSummary(ref=turn.session.ref, request=request, votes=votes)


def _head(turn: TurnTable) -> TurnHead:
    record = turn.record
    return TurnHead(
        row=record.row,
        turn_id=record.turn_id,
        number=record.number,
        generation=record.generation,
        state=record.state,
        cancel=record.cancel,
        source=record.source,
        speaker=record.speaker,
        delivers=record.delivers,
        last_seq=max(turn.events, default=0),
    )


def _tail(session: SessionTable, turn: TurnTable) -> tuple[MessageRow, ...]:
    """The turn's messages from its last reply on, or all of them while it has none."""
    rows = session.messages.get(turn.record.generation, {})
    own = [rows[index] for index in sorted(rows) if rows[index].turn == turn.record.row]
    replies = [row.index for row in own if row.role == "assistant"]
    start = replies[-1] if replies else 0
    return tuple(row for row in own if row.index >= start)


def _status(session: SessionTable) -> str:
    if session.reset_at is not None:
        return "resetting"
    for turn in session.open:
        return "suspended" if turn.record.state == "suspended" else "running"
    return "idle" if session.next_index else "new"


def _pending(session: SessionTable) -> str | None:
    for turn in session.open:
        return turn.record.request if turn.record.state == "suspended" else None
    return None


def _opening(turn: TurnTable) -> MessageRow | None:
    if turn.record.opening is None:
        return None
    return turn.session.messages[turn.record.generation][turn.record.opening]
