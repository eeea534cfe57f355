"""What was asked for from outside comes to its end, and who asked hears of it."""

from __future__ import annotations

import asyncio

import pytest

from gateway.engine.errors import StoreUnavailableError
from gateway.engine.steps.tasks import Tasks


async def test_who_asks_while_the_process_stops_is_told_so() -> None:
    tasks = Tasks()

    async def work() -> None:
        return None

    asking = asyncio.get_running_loop().create_task(tasks.to_the_end(work(), "work"))
    await asyncio.sleep(0)  # the work has an owner, and hasn't begun
    await tasks.close(patience=1.0)
    async with asyncio.timeout(5):
        with pytest.raises(StoreUnavailableError, match="stopping"):
            await asking
