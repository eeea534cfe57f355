"""The outbox of one process: claims deliveries that are due and has their channels show them.

Each row has a task of its own, so that a platform that hangs holds up nothing but what goes to the same
place. What is due is asked for when somebody says that there is something, when the next row's time has
come, and once a second otherwise; that is one read as long as there is nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from channels.protocol import REPLY, Channel, ChannelContext, Journal, Pacer
from gateway.engine.errors import GatewayError, LeaseLostError
from gateway.engine.kinds import Millis, TurnRow
from gateway.engine.ledger import Delivery
from gateway.engine.limits import SYSTEM_WAITS, Clock, Waits
from gateway.engine.records import DeliveryMark
from gateway.engine.runtime import Runtime
from gateway.engine.struct import struct
from gateway.log import bound
from gateway.outbox.journal import RowJournal
from gateway.outbox.pacing import Budgets
from gateway.outbox.sending import Sender

log = logging.getLogger("gateway.outbox")

A_GLANCE = 0.02
"""Seconds between two looks, where the first found nothing."""


@struct(frozen=True, slots=True, kw_only=True)
class Tempo:
    """Durations in seconds. ``batch`` rows are claimed at once, ``most`` are under way. A lease is
    renewed every ``renew``, and that often rows whose sender died are looked for."""

    poll: float = 1.0
    lease: float = 30.0
    renew: float = 10.0
    batch: int = 32
    most: int = 200


@dataclass(slots=True)
class _Held:
    journal: RowJournal
    task: asyncio.Task[None] | None = None
    started: bool = False
    cancelled: bool = False

    def stop(self) -> None:
        """End it where nothing is under way: now, or as soon as what is has been noted. One that hasn't
        begun sees for itself."""
        self.journal.closing = True
        if self.task is None or not self.started:
            return
        if self.journal.calling:
            self.journal.at_rest = self.cancel
        else:
            self.cancel()

    def cancel(self) -> None:
        """Once: it puts its row back then, and isn't to be disturbed at that."""
        if self.task is not None and not self.cancelled:
            self.cancelled = True
            self.task.cancel()


class Outbox:
    """``context`` gives a source's channel what it needs; ``owner`` names this process to others."""

    def __init__(  # noqa: PLR0913 - the parts it joins
        self,
        *,
        runtime: Runtime,
        channels: Mapping[str, Channel],
        context: Callable[[str], ChannelContext],
        owner: str,
        waits: Waits = SYSTEM_WAITS,
        clock: Clock | None = None,
        pacer: Pacer | None = None,
        tempo: Tempo | None = None,
    ) -> None:
        self.pacer: Pacer = pacer or Budgets(waits.monotonic)
        self._runtime = runtime
        self._ledger = runtime.store.ledger
        self._sources = tuple(channels)
        self._owner = owner
        self._waits = waits
        self._clock = clock or runtime.clock
        self._tempo = tempo or Tempo()
        self._lease = Millis(round(self._tempo.lease * 1000))
        self._sender = Sender(runtime, channels, context, self._clock)
        self._held: dict[tuple[int, int], _Held] = {}
        self._news = asyncio.Event()
        self._gone = asyncio.Event()
        self._draining = False
        self._next_lapses = float("-inf")
        self._in_vain = False
        """The last look found nothing to send."""
        self._behind: dict[tuple[str, str], set[TurnRow]] = {}
        """Turns in line behind others, by session."""

    def wake(self) -> None:
        """Something is due, or may be."""
        self._news.set()

    def journal(self, delivery: Delivery) -> Journal:
        """The journal of a delivery that was handed to a channel here. Raises ``LeaseLostError``."""
        held = self._held.get((delivery.id, delivery.token))
        if held is None:
            raise LeaseLostError
        return held.journal

    async def run(self) -> None:
        """Deliver until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keep_leases(), name="leases of deliveries")
            wait = 0.0
            while True:
                news = await self._heard(wait)
                try:
                    wait = await self._round(tasks, news)
                except GatewayError as error:
                    log.warning("deliveries can't be claimed: %s", type(error).__name__)
                    wait = self._tempo.poll

    async def drain(self, seconds: float) -> None:
        """Claim nothing more, let what is under way reach the end of its call, and put all rows back, so
        that another process or the next start takes them at once."""
        self._draining = True
        for held in list(self._held.values()):
            held.stop()
        with suppress(TimeoutError):
            async with self._waits.timeout(seconds):
                await self._empty()
        for held in list(self._held.values()):
            held.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(2.0):
                await self._empty()

    async def _empty(self) -> None:
        while self._held:
            self._gone.clear()
            await self._gone.wait()

    # -- claiming --------------------------------------------------------------------------------------
    async def _heard(self, seconds: float) -> bool:
        """Whether there is news within so many seconds."""
        # The rows that were taken come first. Most news is about turns that nobody is shown, and isn't
        # worth a look each.
        await self._waits.sleep(A_GLANCE if self._in_vain else 0)
        if seconds > 0:
            with suppress(TimeoutError):
                async with self._waits.timeout(seconds):
                    await self._news.wait()
        heard = self._news.is_set()
        self._news.clear()
        return heard

    async def _round(self, tasks: asyncio.TaskGroup, news: bool) -> float:
        """Take what can be taken. Returns how many seconds later to look again without news."""
        tempo = self._tempo
        room = min(tempo.batch, tempo.most - len(self._held))
        if self._draining or room <= 0:
            return tempo.poll  # that a row was let go of is news
        # Rows of a sender that died are due without anything saying so.
        lapses = self._waits.monotonic() >= self._next_lapses
        if not lapses and (wait := await self._due_in()) > 0:
            self._in_vain = True
            return min(wait, tempo.poll)
        taken = await self._claim(tasks, room)
        self._in_vain = not taken
        if taken == room:
            return 0.0
        if lapses and not news and not taken:
            return tempo.poll
        wait = await self._due_in()
        if wait > 0:
            return min(wait, tempo.poll)
        return 0.0 if taken else tempo.poll  # another process was quicker

    async def _due_in(self) -> float:
        due = await self._ledger.next_due(self._sources)
        return float("inf") if due is None else (due - self._clock.now()) / 1000

    async def _claim(self, tasks: asyncio.TaskGroup, room: int) -> int:
        sent = self._waits.monotonic()
        self._next_lapses = sent + self._tempo.renew
        rows = await self._ledger.claim(
            self._owner, self._sources, self._clock.now(), self._lease, room
        )
        for row in rows:
            until = sent + self._tempo.lease
            journal = RowJournal(row, self._ledger, self._waits, until, self._soon(row))
            journal.closing = self._draining
            held = self._held[(row.id, row.token)] = _Held(journal)
            held.task = tasks.create_task(self._carry(held), name=f"delivery {row.id}")
            held.task.add_done_callback(partial(self._let_go, row))
        return len(rows)

    def _let_go(self, row: Delivery, _: asyncio.Task[None]) -> None:
        del self._held[(row.id, row.token)]
        self._gone.set()
        self._news.set()

    def _soon(self, row: Delivery) -> Callable[[], Millis]:
        return lambda: self._clock.now() if self._draining else self._sender.soon(row)

    # -- one row ---------------------------------------------------------------------------------------
    async def _carry(self, held: _Held) -> None:
        held.started = True
        row = held.journal.delivery
        with bound(delivery=str(row.id), turn_id=row.turn_id, session=row.session):
            try:
                behind = await self._sender.send(held.journal)
                await self._lined_up(row, behind)
            except Exception as error:  # noqa: BLE001 - one row's fault must not end the others
                log.error("a delivery broke off: %s", type(error).__name__)  # noqa: TRY400 - no text

    async def _lined_up(self, row: Delivery, behind: bool) -> None:
        """Remember who waits behind another turn, and look again once that was told of: this one may
        have begun, and nothing marks that."""
        session = (row.agent, row.session)
        if behind:
            self._behind.setdefault(session, set()).add(row.turn)
            return
        if row.part != REPLY or not (waiting := self._behind.pop(session, set()) - {row.turn}):
            return
        now = self._clock.now()
        with suppress(GatewayError):  # they are due again in a while anyway
            await self._ledger.note([DeliveryMark(turn=turn, at=now) for turn in waiting])

    # -- leases ----------------------------------------------------------------------------------------
    async def _keep_leases(self) -> None:
        wait = self._tempo.renew
        while True:
            await self._waits.sleep(wait)
            try:
                await self._renew()
                wait = self._tempo.renew
            except GatewayError as error:
                log.warning("leases of deliveries weren't renewed: %s", type(error).__name__)
                wait = self._tempo.poll

    async def _renew(self) -> None:
        held = [one for one in self._held.values() if not one.journal.leaving]
        if not held:
            return
        sent = self._waits.monotonic()
        rows = [(one.journal.delivery.id, one.journal.delivery.token) for one in held]
        kept = await self._ledger.renew(rows, self._lease)
        for one in held:
            if one.journal.delivery.id in kept:
                one.journal.until = sent + self._tempo.lease
            elif not one.journal.leaving:
                one.journal.lost = True
                one.cancel()
