"""The seam's ledger half in dictionaries. Nothing awaits between a check and what it allows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TypeVar

from gateway.engine.errors import LeaseLostError
from gateway.engine.kinds import Millis
from gateway.engine.ledger import (
    Asked,
    Claimed,
    Delivery,
    DeliveryState,
    InboxRow,
    Known,
    Part,
    Receipt,
    Retention,
    VerdictRow,
)
from gateway.engine.records import NEW_TURN, Companion, Writes
from gateway.engine.struct import replace
from gateway.stores.memory_keeping import MemoryKeeping, over
from gateway.stores.memory_ledger_rows import ENDED, QUIET, Event, Judged, View, ticks
from gateway.stores.memory_tables import Tables

K = TypeVar("K")
V = TypeVar("V")


class MemoryLedger(MemoryKeeping):
    """``gateway.engine.ledger.Ledger``; its promises stand there."""

    def __init__(self, tables: Tables, ready: Callable[[], Awaitable[None]]) -> None:
        super().__init__(tables.ledger, ready)
        self._tables = tables

    # -- the way in ----------------------------------------------------------------------------
    async def known(self, ask: Asked) -> Known:
        await self._ready()
        judged = self._held.verdicts.get((ask.source, ask.event_id))
        places, pairs = self._held.places, self._held.pairs
        return Known(
            verdict=None if judged is None else self._verdict(judged),
            bindings=tuple(places[place] for place in ask.places if place in places),
            claims=tuple(self._claimed(key) for key in ask.keys if key in self._tables.claims),
            pairs=tuple(pairs[pair] for pair in ask.pairs if pair in pairs),
        )

    async def note(self, rows: Sequence[Companion]) -> None:
        await self._ready()
        self._keep(rows)

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
        await self._ready()
        judged = sorted(self._held.verdicts.values(), key=lambda one: one.number, reverse=True)
        found = [
            row
            for row in map(self._verdict, judged)
            if source in {None, row.source}
            and event in {None, row.event_id}
            and place in {None, row.place}
            and turn_id in {None, row.turn_id}
            and verdict in {None, row.verdict}
        ]
        return found[:limit]

    async def take_inbox(
        self, owner: str, now: Millis, lease: Millis, limit: int
    ) -> Sequence[InboxRow]:
        await self._ready()
        del owner  # there is but one process
        due = [event for event in self._held.events.values() if _takable(event, now)]
        due.sort(key=lambda event: (event.next_try, event.row.id))
        for event in due[:limit]:
            event.state = "taken"
            event.lease = ticks() + lease
            event.row = replace(
                event.row, token=event.row.token + 1, attempts=event.row.attempts + 1
            )
        return [event.row for event in due[:limit]]

    async def settle_inbox(
        self,
        row: InboxRow,
        done: bool,
        next_try: Millis | None,
        rows: Sequence[Companion] = (),
        *,
        error: str | None = None,
    ) -> None:
        await self._ready()
        event = self._held.events.get((row.source, row.event_id))
        if event is None or event.state != "taken" or event.row.token != row.token:
            raise LeaseLostError
        self._keep(rows)
        event.state = "done" if done else "dead" if next_try is None else "due"
        event.error = error
        if done:
            event.row = replace(event.row, body="")
        if next_try is not None:
            event.next_try = next_try

    # -- the way out ---------------------------------------------------------------------------
    async def claim(
        self, owner: str, sources: Collection[str], now: Millis, lease: Millis, limit: int
    ) -> Sequence[Delivery]:
        await self._ready()
        del owner  # there is but one process
        self._wake(sources, now)
        due = [
            view for view in self._heads() if view.row.source in sources and _claimable(view, now)
        ]
        due.sort(key=lambda view: (view.row.next_try, view.row.id))
        taken: list[Delivery] = []
        for view in due[:limit]:
            cut = view.row.state == "sending"
            view.lease = ticks() + lease
            view.row = replace(
                view.row,
                state="sending",
                token=view.row.token + 1,
                attempts=view.row.attempts + 1,
            )
            taken.append(replace(view.read, recovered=cut))
        return taken

    async def renew(self, held: Sequence[tuple[int, int]], lease: Millis) -> Collection[int]:
        await self._ready()
        kept: set[int] = set()
        for number, token in held:
            view = self._held.views.get(number)
            if view is not None and _ours(view, token):
                view.lease = ticks() + lease
                kept.add(number)
        return kept

    async def journal(self, token: int, parts: Sequence[Part]) -> int:
        if len({part.delivery for part in parts}) != 1:
            raise ValueError("a journal entry is about the parts of one delivery")
        await self._ready()
        view = self._mine(parts[0].delivery, token)
        view.parts.update({part.n: part for part in parts})
        return view.row.wanted

    async def settle(self, receipt: Receipt) -> Delivery:
        await self._ready()
        view = self._mine(receipt.delivery, receipt.token)
        row = view.row
        quiet = receipt.state in QUIET
        waits = receipt.next_try if receipt.state == "due" else None
        view.row = replace(
            row,
            state="due" if quiet and row.wanted > receipt.satisfied else receipt.state,
            shown=max(row.shown, receipt.satisfied),
            seq=receipt.seq,
            hash=row.hash if receipt.hash is None else receipt.hash,
            ref=row.ref if receipt.ref is None else receipt.ref,
            lane=row.lane if receipt.lane is None else receipt.lane,
            next_try=row.next_try if waits is None else waits,
            error=receipt.error,
            revive_on=receipt.revive_on,
            remind_at=receipt.remind_at,
            attempts=0 if quiet else row.attempts,
        )
        for place in receipt.places:
            self._held.bind(place)
        return view.read

    async def next_due(self, sources: Collection[str]) -> Millis | None:
        await self._ready()
        found = [
            view.row.next_try
            for view in self._heads()
            if view.row.state == "due" and view.row.source in sources
        ]
        found += [
            view.row.remind_at
            for view in self._held.views.values()
            if view.row.state == "resting"
            and view.row.remind_at is not None
            and view.row.source in sources
        ]
        return min(found, default=None)

    async def deliveries(
        self, *, state: DeliveryState | None = None, turn_id: str | None = None, limit: int = 50
    ) -> Sequence[Delivery]:
        await self._ready()
        found = [
            view.read
            for _, view in sorted(self._held.views.items(), reverse=True)
            if state in {None, view.row.state} and turn_id in {None, view.row.turn_id}
        ]
        return found[:limit]

    async def delivery(self, id: int) -> Delivery | None:  # noqa: A002 - the seam's name
        await self._ready()
        view = self._held.views.get(id)
        return None if view is None else view.read

    async def shown_at(self, source: str, ref: str) -> Delivery | None:
        await self._ready()
        for _, view in sorted(self._held.views.items(), reverse=True):
            refs = {view.row.ref, *(part.ref for part in view.parts.values())}
            if view.row.source == source and ref in refs:
                return view.read
        return None

    async def retry(
        self,
        *,
        id: int | None = None,  # noqa: A002 - the seam's name
        revive_on: str | None = None,
        now: Millis,
    ) -> int:
        if id is None and revive_on is None:
            raise ValueError("say which: the delivery's id, or what it waits for")
        await self._ready()
        revived = 0
        for view in self._held.views.values():
            row = view.row
            if row.state == "dead" and id in {None, row.id} and revive_on in {None, row.revive_on}:
                view.row = replace(
                    row,
                    state="due",
                    wanted=row.wanted + 1,
                    attempts=0,
                    next_try=now,
                    revive_on=None,
                )
                revived += 1
        return revived

    async def fail(self, id: int, part: int, error: str) -> DeliveryState | None:  # noqa: A002 - as above
        await self._ready()
        view = self._held.views.get(id)
        if view is None:
            return None
        before = view.row.state
        if before in {"resting", "done", "silent"}:
            view.row = replace(view.row, state="dead", error=error, remind_at=None)
            if part in view.parts:
                view.parts[part] = replace(view.parts[part], state="gone")
        return before

    # -- shared --------------------------------------------------------------------------------
    async def forget(self, before: Retention) -> int:
        await self._ready()
        held, limit = self._held, before.limit
        old = [
            view
            for view in held.views.values()
            if view.row.state in ENDED and view.row.next_try < before.deliveries
        ][:limit]
        for view in old:
            held.drop(view)
        return len(old) + sum(
            (
                _drop(self._tables.claims, limit, lambda row: row.expires_at <= before.claims),
                _drop(held.verdicts, limit, lambda one: one.row.at < before.verdicts),
                _drop(held.events, limit, lambda one: _over(one) and one.row.at < before.inbox),
                _drop(held.places, limit, lambda row: row.at < before.places),
                _drop(held.pairs, limit, lambda row: row.last_at < before.pairs),
                _drop(held.files, limit, lambda pair: pair[0].at < before.files),
                _drop(held.documents, limit, lambda row: over(row, before.documents)),
                _drop(held.occurrences, limit, lambda row: row.at < before.occurrences),
            )
        )

    # -- looking -------------------------------------------------------------------------------
    def _keep(self, rows: Sequence[Companion]) -> None:
        if any(getattr(row, "turn", None) == NEW_TURN for row in rows):
            raise ValueError("these rows name a new turn, and none is made here")
        self._tables.apply(None, Writes(companions=tuple(rows)))

    def _mine(self, number: int, token: int) -> View:
        view = self._held.views.get(number)
        if view is None or not _ours(view, token):
            raise LeaseLostError
        return view

    def _heads(self) -> list[View]:
        """Of each lane the view that is being sent, or else the oldest that waits."""
        heads: dict[str, View] = {}
        for _, view in sorted(self._held.views.items()):
            if view.row.state == "sending":
                heads[view.row.lane] = view
            elif view.row.state == "due":
                heads.setdefault(view.row.lane, view)
        return list(heads.values())

    def _wake(self, sources: Collection[str], now: Millis) -> None:
        for view in self._held.views.values():
            row = view.row
            reminded = row.remind_at is not None and row.remind_at <= now
            if reminded and row.state == "resting" and row.source in sources:
                view.row = replace(row, state="due", wanted=row.wanted + 1, next_try=now)

    def _verdict(self, judged: Judged) -> VerdictRow:
        whose = None if judged.turn is None else self._held.address(judged.turn)
        if whose is None:
            return judged.row
        return replace(judged.row, agent=whose[0], session=whose[1], turn_id=whose[2])

    def _claimed(self, key: str) -> Claimed:
        claim = self._tables.claims[key]
        whose = None if claim.turn is None else self._held.address(claim.turn)
        agent, session, turn_id = (None, None, None) if whose is None else whose
        return Claimed(
            key=key,
            turn=claim.turn,
            agent=agent,
            session=session,
            turn_id=turn_id,
            expires_at=claim.expires_at,
        )


def _ours(view: View, token: int) -> bool:
    return view.row.state == "sending" and view.row.token == token


def _claimable(view: View, now: Millis) -> bool:
    if view.row.next_try > now:
        return False
    return view.row.state == "due" or view.lease <= ticks()


def _takable(event: Event, now: Millis) -> bool:
    if event.next_try > now:
        return False
    return event.state == "due" or (event.state == "taken" and event.lease <= ticks())


def _over(event: Event) -> bool:
    return event.state in {"done", "dead"}


def _drop(table: dict[K, V], limit: int, old: Callable[[V], bool]) -> int:
    gone = [key for key, row in table.items() if old(row)][:limit]
    for key in gone:
        del table[key]
    return len(gone)
