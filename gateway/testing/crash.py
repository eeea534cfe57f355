"""Crash injection: a store that dies at a chosen write, as if the process had been killed there.

Each write of the seam is two points: before it, and after it is durable but before anyone was told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from gateway.engine.kinds import JsonObject, Millis, SessionRef, TurnRow
from gateway.engine.ledger import Ledger
from gateway.engine.ports import SessionStore, StoreCapabilities
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
    TurnRecord,
    TurnSummary,
    Writes,
)
from gateway.engine.runtime import Runtime

T = TypeVar("T")


class Crash(BaseException):
    """The process is gone: nothing after this line of it runs."""


class CrashingStore:
    """Wraps a store. Dies at write point number ``at`` (from 0), or at the first whose name begins so;
    ``None`` counts points only.

    Once dead, every method raises ``Crash``; open a new store on the same data and start again.
    ``ledger`` is the store's own and knows of no crash.
    ``survived`` holds the name of each point that was passed: ``before enter``, ``after model:1``,
    ``after start tool:1:call_1_0``, ``before tool:1:call_1_0``. ``at`` may be set later; ``died`` is set by the end.
    """

    def __init__(self, inner: SessionStore, at: int | str | None = None) -> None:
        self.inner = inner
        self.seam_version: int = inner.seam_version
        self.dialect: str = inner.dialect
        self.capabilities: StoreCapabilities = inner.capabilities
        self.ledger: Ledger = inner.ledger
        self.survived: list[str] = []
        self.dead = False
        self.died = asyncio.Event()
        self.at = at

    def _point(self, name: str) -> None:
        if self.dead:
            raise Crash(name)
        if name.startswith(self.at) if isinstance(self.at, str) else len(self.survived) == self.at:
            self.die()
            raise Crash(name)
        self.survived.append(name)

    def die(self) -> None:
        self.dead = True
        self.died.set()

    async def _write(self, name: str, write: Callable[[], Awaitable[T]]) -> T:
        self._point(f"before {name}")
        result = await write()
        self._point(f"after {name}")
        return result

    def _alive(self) -> SessionStore:
        if self.dead:
            raise Crash("dead")
        return self.inner

    async def open(self) -> None:
        await self.inner.open()

    async def close(self) -> None:
        await self.inner.close()

    async def amend(self, ref: SessionRef, ask: Ask, decide: Callable[[SessionView], Plan[T]]) -> T:
        func = getattr(decide, "func", decide)
        name = str(getattr(func, "__name__", "amend"))
        return await self._write(name, lambda: self.inner.amend(ref, ask, decide))

    async def commit(self, fence: Fence, writes: Writes) -> None:
        steps = (step.step if step.done else f"start {step.step}" for step in writes.steps)
        name = ",".join(steps) or "commit"
        await self._write(name, lambda: self.inner.commit(fence, writes))

    async def run_local(self, fence: Fence, call: LocalCall) -> None:
        await self._write(f"local {call.tool}", lambda: self.inner.run_local(fence, call))

    async def beat(self, owner: str) -> None:
        await self._alive().beat(owner)

    async def backlog(self, lease: Millis) -> Sequence[OpenSession]:
        return await self._alive().backlog(lease)

    async def due(self, now: Millis) -> Sequence[tuple[SessionRef, RequestRecord]]:
        return await self._alive().due(now)

    async def session(self, ref: SessionRef) -> SessionRow | None:
        return await self._alive().session(ref)

    async def messages(
        self, ref: SessionRef, generation: int, after: int = -1, limit: int | None = None
    ) -> Sequence[MessageRow]:
        return await self._alive().messages(ref, generation, after, limit)

    async def turn(self, ref: SessionRef, turn_id: str) -> TurnRecord | None:
        return await self._alive().turn(ref, turn_id)

    async def steps(self, turn: TurnRow) -> Sequence[StepRow]:
        return await self._alive().steps(turn)

    async def requests(self, turn: TurnRow) -> Sequence[RequestRecord]:
        return await self._alive().requests(turn)

    async def events(
        self, ref: SessionRef, turn: TurnRow, after: int = 0, limit: int = 1000
    ) -> Sequence[LoggedEvent]:
        return await self._alive().events(ref, turn, after, limit)

    async def edition(self, hash: str) -> EditionRow | None:  # noqa: A002 - the seam's word
        return await self._alive().edition(hash)

    async def find_request(self, id: str) -> RequestSummary | None:  # noqa: A002 - the seam's word
        return await self._alive().find_request(id)

    async def list_sessions(
        self, *, agent: str | None = None, status: str | None = None, limit: int = 50
    ) -> Sequence[SessionSummary]:
        return await self._alive().list_sessions(agent=agent, status=status, limit=limit)

    async def list_turns(
        self, *, ref: SessionRef | None = None, state: str | None = None, limit: int = 50
    ) -> Sequence[TurnSummary]:
        return await self._alive().list_turns(ref=ref, state=state, limit=limit)

    async def list_requests(self, *, limit: int = 50) -> Sequence[RequestSummary]:
        return await self._alive().list_requests(limit=limit)

    async def list_past_requests(
        self, *, decided: bool, limit: int = 50
    ) -> Sequence[RequestSummary]:
        return await self._alive().list_past_requests(decided=decided, limit=limit)

    async def list_audit(
        self,
        *,
        agent: str | None = None,
        session: str | None = None,
        turn_id: str | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> Sequence[AuditEntry]:
        return await self._alive().list_audit(
            agent=agent, session=session, turn_id=turn_id, before=before, limit=limit
        )

    async def usage_totals(self, turn: TurnRow) -> JsonObject:
        return await self._alive().usage_totals(turn)


async def kill(runtime: Runtime, store: CrashingStore) -> None:
    """End a process as SIGKILL would: nothing of it writes any more, and nothing is let go in order."""
    store.die()
    runtime.draining = True
    runtime.stopping.set()
    await runtime.deciding.close(patience=2)
    await runtime.tasks.close(patience=2)
    for actor in runtime.actors():
        actor.let_go()
