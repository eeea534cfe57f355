"""The right to write about one delivery, and the writing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gateway.engine.errors import LeaseLostError
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Binding, Delivery, Ledger, Part, Receipt, SettledState
from gateway.engine.limits import Waits
from gateway.engine.struct import replace

MARGIN = 2.0
"""Seconds that a lease must outlast a call by: an answer comes late, a store takes its time."""


class RowJournal:
    """``channels.protocol.Journal``.

    ``until`` is when the lease ends by our monotonic clock, counted from the moment the claim or the
    last renewal was sent: the store may have counted from later, never from earlier. ``soon`` says when
    a row that its channel gives back is due again.
    """

    def __init__(
        self,
        delivery: Delivery,
        ledger: Ledger,
        waits: Waits,
        until: float,
        soon: Callable[[], Millis],
    ) -> None:
        self.delivery = delivery
        self.until = until
        self.settled: Delivery | None = None
        """The row as it was let go of."""
        self.closing = False
        """This process stops: what is under way is noted, nothing else begins."""
        self.lost = False
        """Somebody else has it."""
        self.leaving = False
        """It is being let go of."""
        self.calling = False
        """A call was announced, and nothing was noted since."""
        self.at_rest: Callable[[], None] = _nothing
        """Told whenever what was under way has been noted."""
        self._ledger = ledger
        self._waits = waits
        self._soon = soon
        self._parts = {part.n: part for part in delivery.parts}
        self._wanted = delivery.wanted

    @property
    def parts(self) -> Sequence[Part]:
        return tuple(self._parts[n] for n in sorted(self._parts))

    @property
    def wanted(self) -> int:
        return self._wanted

    @property
    def marked(self) -> bool:
        """Whether there was more to show by the time it was let go than was seen before."""
        return self.settled is not None and self.settled.wanted > self._wanted

    @property
    def recovered(self) -> bool:
        return self.delivery.recovered

    @property
    def current(self) -> Delivery:
        """The delivery with its parts as they are now."""
        return replace(self.delivery, parts=tuple(self.parts))

    def outlasts(self, seconds: float) -> None:
        if self.closing or self._left() <= seconds + MARGIN:
            raise LeaseLostError
        self.calling = True

    async def record(self, *parts: Part) -> None:
        self._check()
        if parts:
            self._wanted = await self._write(parts)
            self._parts.update({part.n: part for part in parts})
        # What is meant to be sent is noted before the call, the rest behind one.
        if not any(part.state == "opening" for part in parts):
            self._rests()

    async def settle(  # noqa: PLR0913 - the seam's own signature
        self,
        state: SettledState,
        *,
        satisfied: int,
        seq: int,
        hash: str | None = None,  # noqa: A002 - the seam's name
        ref: str | None = None,
        lane: str | None = None,
        places: tuple[Binding, ...] = (),
        remind_at: Millis | None = None,
    ) -> None:
        receipt = Receipt(
            delivery=self.delivery.id,
            token=self.delivery.token,
            satisfied=satisfied,
            state=state,
            seq=seq,
            hash=hash,
            ref=ref,
            lane=lane,
            next_try=self._soon() if state == "due" else None,
            places=places,
            remind_at=remind_at,
        )
        self._check()
        await self._let_go(receipt)

    async def put_back(
        self,
        state: SettledState,
        *,
        error: str | None,
        next_try: Millis | None = None,
        look_at: Millis | None = None,
        revive_on: str | None = None,
    ) -> None:
        """Let go of a row without having shown any more than before; what rests has nothing to show
        yet, what is silent never has. Also after our lease ran out: the store knows whether somebody
        else has taken it, and if nobody has, they needn't wait for it."""
        row = self.delivery
        receipt = Receipt(
            delivery=row.id,
            token=row.token,
            satisfied=row.wanted if state in {"resting", "silent"} else row.shown,
            state=state,
            seq=row.seq,
            next_try=next_try,
            error=error,
            revive_on=revive_on,
            remind_at=row.remind_at if look_at is None else look_at,
        )
        await self._let_go(receipt)

    async def _let_go(self, receipt: Receipt) -> None:
        self.leaving = True
        try:
            self.settled = await self._ledger.settle(receipt)
        except LeaseLostError:
            self.lost = True
            raise
        self._rests()

    async def cut(self) -> None:
        """What may have been under way when its sender was stopped: a stream that took it shows more
        than its part says."""
        live = [replace(part, state="broken") for part in self.parts if part.state == "live"]
        if self.calling and live:
            await self._write(live)
            self._parts.update({part.n: part for part in live})

    async def _write(self, parts: Sequence[Part]) -> int:
        try:
            return await self._ledger.journal(self.delivery.token, parts)
        except LeaseLostError:
            self.lost = True
            raise

    def _rests(self) -> None:
        self.calling = False
        self.at_rest()

    def _left(self) -> float:
        if self.lost or self.settled is not None:
            return 0.0
        return self.until - self._waits.monotonic()

    def _check(self) -> None:
        if self._left() <= 0:
            raise LeaseLostError


def _nothing() -> None:
    pass
