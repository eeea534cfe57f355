"""One host with a schedule. Run by ``test_schedules.py``.

``python -m tests.crash.schedules.worker <store> <where> <moment>``: it is that moment when the process
begins, and ``where`` names when it kills itself: ``held``, once the tick is its to fire, ``committed``,
once the turn is and before the schedule's state says so, or ``never``. A process that isn't to die ends
when the state speaks of the tick and the turn has ended.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any, cast

from gateway.engine.kinds import Millis
from gateway.engine.ledger import Document, Ledger
from gateway.stores import open_store
from gateway.testing.crash import CrashingStore
from tests.unit.schedules.house import NINE, house


class DeadlyLedger:
    """Kills the process at one moment."""

    def __init__(self, inner: Ledger, where: str) -> None:
        self._inner = inner
        self._where = where

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def hold(self, name: str, owner: str, lease: Millis) -> bool:
        held = await self._inner.hold(name, owner, lease)
        if name.startswith("schedule:"):
            self._die("held")
        return held

    async def put_document(self, row: Document, expected: int | None) -> bool:
        if row.body["seen"] == NINE:
            self._die("committed")
        return await self._inner.put_document(row, expected)

    def _die(self, where: str) -> None:
        if self._where == where:
            os.kill(os.getpid(), signal.SIGKILL)


async def work(url: str, where: str, moment: Millis) -> None:
    inner = await asyncio.to_thread(open_store, url)
    await inner.open()
    store = CrashingStore(inner)
    store.ledger = cast("Ledger", DeadlyLedger(inner.ledger, where))
    async with house(store, now=moment, runs=True) as here:
        await here.known(1)
        print("ready", flush=True)  # noqa: T201 - the test waits for it
        while (await here.state()).seen < NINE:
            await asyncio.sleep(0.02)
        (tick,) = await here.ticks()
        assert tick.session is not None
        assert tick.turn_id is not None
        await here.session(tick.session).result(tick.turn_id)
    await inner.close()


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], sys.argv[2], Millis(int(sys.argv[3]))))
