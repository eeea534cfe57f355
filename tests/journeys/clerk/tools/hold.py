"""Something that takes a while."""

# ruff: noqa: TID252 - an agent directory is loaded under a private name
from __future__ import annotations

from gateway import ToolContext, tool

from .._desk import Desk


@tool(effect="read")
async def hold(ctx: ToolContext) -> str:
    """Wait until the gate is open."""
    desk: Desk = ctx.services
    await desk.gate.wait()
    return "done"
