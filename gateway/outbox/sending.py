"""One claimed delivery, from its claim until it is let go of."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from contextlib import aclosing

from channels.contract import SETTLING, NotSent, RetryLater, Sent, Undeliverable, Unknown
from channels.protocol import CARD, NOTE_LANE, QUEUED, REPLY, Channel, ChannelContext
from gateway.engine.decisions.opening import opening_from
from gateway.engine.errors import GatewayError, LeaseLostError, StoreUnavailableError
from gateway.engine.kinds import Millis, SessionRef, TurnState
from gateway.engine.ledger import Delivery, Part, SettledState
from gateway.engine.limits import Clock
from gateway.engine.records import Companion, DeliveryMark, DeliveryOpened, TurnRecord
from gateway.engine.runtime import Runtime
from gateway.engine.steps.foreign import contained
from gateway.engine.struct import replace, struct
from gateway.outbox.journal import RowJournal
from gateway.outbox.stream import turn_stream
from gateway.outbox.trouble import back_off, trouble
from gateway.outbox.view import turn_ahead, turn_of
from gateway.schedules.quiet import kept_quiet

log = logging.getLogger("gateway.outbox")

A_MOMENT = Millis(1000)
A_MINUTE = Millis(60_000)


@struct(frozen=True, slots=True, kw_only=True)
class Back:
    """How a delivery is put back that its channel didn't settle. ``cut``: something may have been under
    way. ``behind``: its turn waits for an earlier one."""

    state: SettledState
    error: str | None = None
    next_try: Millis | None = None
    look_at: Millis | None = None
    revive_on: str | None = None
    cut: bool = False
    behind: bool = False


class Sender:
    """Hands deliveries to their channels and puts back what doesn't get through."""

    def __init__(
        self,
        runtime: Runtime,
        channels: Mapping[str, Channel],
        context: Callable[[str], ChannelContext],
        clock: Clock,
    ) -> None:
        self._runtime = runtime
        self._channels = channels
        self._context = context
        self._clock = clock

    async def send(self, journal: RowJournal) -> bool:
        """Show what is wanted, or put the row back. Whether its turn waits behind another."""
        try:
            back = self._stopped(journal) if journal.closing else await self._outcome(journal)
            if back is not None:
                await self._put_back(journal, back)
        except asyncio.CancelledError:
            await self._put_back(journal, self._stopped(journal))
            raise
        return back is not None and back.behind

    def soon(self, row: Delivery) -> Millis:
        """When a row is due again that nobody named a time for."""
        wait = back_off(row.attempts, random.random())  # noqa: S311 - jitter, not a secret
        return Millis(self._clock.now() + round(wait * 1000))

    # -- what comes of it ------------------------------------------------------------------------------
    async def _outcome(self, journal: RowJournal) -> Back | None:
        """How the row is to be put back; ``None`` for one that its channel settled."""
        row = journal.delivery
        try:
            with contained:
                back = await self._show(journal)
        except RetryLater as later:
            return self._again(row, "later", later.why, later.at)
        except Undeliverable as letter:
            log.warning("a delivery to %s is dead: %s", row.source, letter.reason)
            error = f"{letter.reason}: {letter.detail}"
            return Back(state="dead", error=error, revive_on=letter.revive_on)
        except LeaseLostError:
            return self._stopped(journal)
        except StoreUnavailableError:
            return replace(self._again(row, "failed", "the store is unavailable"), cut=True)
        except Exception as error:  # noqa: BLE001 - a channel's fault must not end the others
            # Its text may hold what was said; its class says where to look.
            kind = type(error).__name__
            log.error("channel %s failed to deliver: %s", row.source, kind)  # noqa: TRY400 - as above
            return replace(self._again(row, "failed", kind), cut=True)
        if back is None and journal.settled is None:
            log.error("channel %s left a delivery unsettled", row.source)
            left = self._again(row, "unsettled", "the channel didn't say what became of it")
            return replace(left, cut=True)
        return back

    def _again(self, row: Delivery, word: str, detail: str, at: Millis | None = None) -> Back:
        now = self._clock.now()
        found = trouble(row.error, word, detail, now)
        if found.over(now, row.attempts):
            reason = "cant_tell" if word == "unknown" else "gave_up"
            log.warning("a delivery to %s is dead: %s", row.source, reason)
            return Back(state="dead", error=f"{reason}: {detail}, for a whole day")
        next_try = at if at is not None and at > now else self.soon(row)
        return Back(state="due", error=str(found), next_try=next_try)

    def _stopped(self, journal: RowJournal) -> Back:
        """This process lets go of the row. Where a call was under way, its effect is waited for."""
        wait = SETTLING if journal.calling else 0
        next_try = Millis(self._clock.now() + wait)
        return Back(state="due", error=journal.delivery.error, next_try=next_try, cut=True)

    async def _put_back(self, journal: RowJournal, back: Back) -> None:
        if journal.settled is not None or journal.lost:
            return
        try:
            if back.cut:
                await journal.cut()
            await journal.put_back(
                back.state,
                error=back.error,
                next_try=back.next_try,
                look_at=back.look_at,
                revive_on=back.revive_on,
            )
            if back.revive_on is not None and journal.marked:
                # What would bring it back may have come just before it was put down.
                now = self._clock.now()
                await self._runtime.store.ledger.retry(id=journal.delivery.id, now=now)
            if back.state == "dead" and journal.delivery.part.startswith(CARD):
                # Who asked is to be told that the decision is asked for nowhere they see.
                await self._note(DeliveryMark(turn=journal.delivery.turn, at=self._clock.now()))
        except LeaseLostError:
            pass  # whoever has it now goes on from what its parts say
        except GatewayError as error:
            log.warning("a delivery is left until its lease lapses: %s", type(error).__name__)

    # -- the sending -----------------------------------------------------------------------------------
    async def _show(self, journal: RowJournal) -> Back | None:
        row = journal.delivery
        if row.agent not in self._runtime.agents:
            raise Undeliverable("no_agent", f"there is no agent {row.agent!r} here any more")
        channel = self._channels[row.source]
        if (back := await self._reconciled(channel, journal)) is not None:
            return back
        if row.part == REPLY:
            record = await turn_of(self._runtime, row)
            if (ahead := await turn_ahead(self._runtime, row, record)) is not None:
                return await self._behind(row, ahead)
            if not journal.parts and (held := await self._unasked(row, record)) is not None:
                return held
        delivery, context = journal.current, self._context(row.source)
        async with aclosing(turn_stream(self._runtime, delivery)) as events:
            if delivery.seq == 0:
                await channel.deliver(events, delivery, context)
            else:
                await channel.deliver_resume(events, delivery, context)
        return None

    async def _behind(self, row: Delivery, ahead: TurnState) -> Back:
        # What is due holds its lane, also against the card that the turn before it waits for.
        now = self._clock.now()
        wait = max(A_MOMENT, min(A_MINUTE, now - row.at)) if ahead == "suspended" else A_MOMENT
        if ahead == "suspended" and row.shown == 0:
            await self._note(self._waiting(row, Millis(now)))
        return Back(state="resting", look_at=Millis(now + wait), behind=True)

    async def _unasked(self, row: Delivery, record: TurnRecord) -> Back | None:
        """What nobody waits for is shown once it rests: until then it may turn out that there is
        nothing to report, and then it is never shown."""
        if opening_from(record.body).trigger != "proactive":
            return None
        if record.state in {"queued", "running"}:
            return Back(state="resting")  # its end marks it, and what it parks on
        ref = SessionRef(row.agent, row.session)
        quiet = await kept_quiet(self._runtime.store, ref, record)
        return None if quiet is None else Back(state="silent")

    def _waiting(self, row: Delivery, now: Millis) -> DeliveryOpened:
        """Whoever wrote before the turn ahead of theirs was parked is told who is waited for, too."""
        return DeliveryOpened(
            turn=row.turn,
            part=QUEUED,
            source=row.source,
            target=row.target,
            lane=f"{row.lane}{NOTE_LANE}",
            at=now,
        )

    async def _note(self, row: Companion) -> None:
        await self._runtime.store.ledger.note([row])

    async def _reconciled(self, channel: Channel, journal: RowJournal) -> Back | None:
        """Find out what became of parts whose send was begun, before anything is sent again."""
        for part in journal.parts:
            if part.state != "opening":
                continue
            match await channel.reconcile(journal.current):
                case Sent(ref, hash_):
                    await journal.record(_found(part, ref, hash_))
                case NotSent():
                    sure_at = Millis(part.opened_at + SETTLING)
                    if self._clock.now() < sure_at:
                        why = "it isn't there, and may still appear"
                        return self._again(journal.delivery, "unknown", why, sure_at)
                    await journal.record(replace(part, state="gone"))
                case Unknown(why, after):
                    wait = None if after is None else round(after * 1000)
                    at = None if wait is None else Millis(self._clock.now() + wait)
                    return self._again(journal.delivery, "unknown", why, at)
        return None


def _found(part: Part, ref: str, hash_: str | None) -> Part:
    """A message is sent whole or not at all; how far a stream came isn't known."""
    if part.kind == "stream":
        return replace(part, state="broken", ref=ref)
    shown = part.hash if hash_ is None else hash_
    return replace(part, state="open", ref=ref, acked=part.end, hash=shown)
