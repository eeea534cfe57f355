"""What the memory store's ledger keeps for hosts in common: leases, installations, files, documents,
and what came of schedules."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from gateway.engine.kinds import Millis
from gateway.engine.ledger import Document, FileRow, Installation, OccurrenceRow
from gateway.engine.limits import SYSTEM_CLOCK
from gateway.engine.records import OccurrenceKept
from gateway.engine.struct import replace
from gateway.engine.wire.text import dumps, loads
from gateway.stores.memory_ledger_rows import LedgerTables, ticks


class MemoryKeeping:
    """The last part of ``MemoryLedger``. ``ready`` waits as a store that has to ask its backend
    would, and raises when the store isn't open."""

    def __init__(self, held: LedgerTables, ready: Callable[[], Awaitable[None]]) -> None:
        self._held = held
        self._ready = ready

    async def hold(self, name: str, owner: str, lease: Millis) -> bool:
        await self._ready()
        held = self._held.leases.get(name)
        if held is not None and held[0] != owner and held[1] > ticks():
            return False
        self._held.leases[name] = (owner, ticks() + lease)
        return True

    async def let_go(self, name: str, owner: str) -> None:
        await self._ready()
        held = self._held.leases.get(name)
        if held is not None and held[0] == owner:
            del self._held.leases[name]

    async def installation(self, key: str) -> Installation | None:
        await self._ready()
        return self._held.installations.get(key)

    async def installations(self, app: str) -> Sequence[Installation]:
        await self._ready()
        return [row for _, row in sorted(self._held.installations.items()) if row.app == app]

    async def save_installation(self, row: Installation, expected: int | None) -> bool:
        await self._ready()
        held = self._held.installations.get(row.key)
        if (None if held is None else held.version) != expected:
            return False
        self._held.installations[row.key] = replace(row, version=(expected or 0) + 1)
        return True

    async def keep_file(self, row: FileRow, body: bytes) -> None:
        await self._ready()
        self._held.files.setdefault(row.id, (row, bytes(body)))

    async def file(self, id: str) -> bytes | None:  # noqa: A002 - the seam's name
        await self._ready()
        held = self._held.files.get(id)
        return None if held is None else held[1]

    # -- documents -----------------------------------------------------------------------------
    async def document(self, kind: str, key: str) -> Document | None:
        await self._ready()
        row = self._there(kind, key)
        return None if row is None else _read(row)

    async def documents(self, kind: str, limit: int = 200) -> Sequence[Document]:
        await self._ready()
        rows = [self._there(*name) for name in sorted(self._held.documents) if name[0] == kind]
        return [_read(row) for row in rows if row is not None][:limit]

    async def put_document(self, row: Document, expected: int | None) -> bool:
        await self._ready()
        there = self._there(row.kind, row.key)
        if (None if there is None else there.version) != expected:
            return False
        self._held.documents[row.kind, row.key] = replace(_read(row), version=(expected or 0) + 1)
        return True

    async def drop_document(self, kind: str, key: str, expected: int | None = None) -> bool:
        await self._ready()
        there = self._there(kind, key)
        if there is None or expected not in {None, there.version}:
            return False
        del self._held.documents[kind, key]
        return True

    def _there(self, kind: str, key: str) -> Document | None:
        row = self._held.documents.get((kind, key))
        return None if row is None or over(row, SYSTEM_CLOCK.now()) else row

    # -- schedules -----------------------------------------------------------------------------
    async def occurrences(
        self, agent: str, schedule: str | None = None, limit: int = 50
    ) -> Sequence[OccurrenceRow]:
        await self._ready()
        rows = [
            row
            for row in self._held.occurrences.values()
            if row.agent == agent and schedule in {None, row.schedule}
        ]
        rows.sort(key=lambda row: (-row.due, row.schedule))
        return [self._told(row) for row in rows[:limit]]

    def _told(self, row: OccurrenceKept) -> OccurrenceRow:
        whose = None if row.turn is None else self._held.address(row.turn)
        return OccurrenceRow(
            agent=row.agent,
            schedule=row.schedule,
            due=row.due,
            outcome=row.outcome,
            turn=row.turn,
            turn_id=None if whose is None else whose[2],
            session=None if whose is None else whose[1],
            by=row.by,
            why=row.why,
            at=row.at,
        )


def over(row: Document, now: Millis) -> bool:
    return row.expires is not None and row.expires <= now


def _read(row: Document) -> Document:
    """Its body is nobody else's to change."""
    return replace(row, body=loads(dumps(row.body)))
