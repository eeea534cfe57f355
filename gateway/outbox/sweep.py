"""Forgetting: what the ledger keeps, it keeps for a time."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from gateway.engine.errors import GatewayError
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Ledger, Retention
from gateway.engine.limits import Clock, Waits
from gateway.engine.records.companions import DAY

log = logging.getLogger("gateway.outbox")

FIRST = 60.0
"""Seconds after a start: it has better things to do then."""
EVERY = 3600.0
PAUSE = 0.2
"""Seconds between two helpings, so that whoever waits for the store gets in between."""
HELPING = 500


def ages(now: Millis) -> Retention:
    """Events that come again do so within days. A place that nobody wrote in for a quarter may be
    forgotten, and so may what was shown there; verdicts answer questions about last month."""
    return Retention(
        claims=now,
        verdicts=Millis(now - 30 * DAY),
        inbox=Millis(now - 14 * DAY),
        deliveries=Millis(now - 90 * DAY),
        places=Millis(now - 90 * DAY),
        pairs=Millis(now - 14 * DAY),
        files=Millis(now - 90 * DAY),
        documents=now,
        occurrences=Millis(now - 90 * DAY),
        limit=HELPING,
    )


async def sweep(ledger: Ledger, now: Millis, waits: Waits) -> int:
    """Forget what is old by now, a little at a time. Returns how many rows went."""
    gone = 0
    while forgotten := await ledger.forget(ages(now)):
        gone += forgotten
        await waits.sleep(PAUSE)
    return gone


@dataclass(frozen=True, slots=True)
class Sweeping:
    """Once an hour; of several hosts the one that gets there first."""

    ledger: Ledger
    owner: str
    clock: Clock
    waits: Waits

    async def run(self) -> None:
        """Until it is cancelled."""
        await self.waits.sleep(FIRST)
        while True:
            try:
                await self._sweep()
            except GatewayError as error:
                log.warning("the ledger wasn't swept: %s", type(error).__name__)
            await self.waits.sleep(EVERY)

    async def _sweep(self) -> None:
        if not await self.ledger.hold(
            "retention", self.owner, Millis(round((EVERY - FIRST) * 1000))
        ):
            return
        if gone := await sweep(self.ledger, self.clock.now(), self.waits):
            log.info("forgot %d old rows of the ledger", gone)
