"""A tool that waits as long as a quick request elsewhere takes: now less, now more."""

from __future__ import annotations

import asyncio
import random

from gateway import tool


@tool(effect="read")
async def wait(round: int) -> str:  # noqa: A002 - what the model calls it
    """Wait a moment."""
    await asyncio.sleep(random.uniform(0.1, 0.4))  # noqa: S311 - so that turns don't march in step
    return f"waited, round {round}"
