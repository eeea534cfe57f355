"""A tool that waits as long as a quick request elsewhere takes."""

from __future__ import annotations

import asyncio

from gateway import tool


@tool(effect="read")
async def wait(round: int) -> str:  # noqa: A002 - what the model calls it
    """Wait a moment."""
    await asyncio.sleep(0.25)
    return f"waited, round {round}"
