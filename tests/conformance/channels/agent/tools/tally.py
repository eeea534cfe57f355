"""Something that can be counted."""

# ruff: noqa: TID252 - an agent directory is loaded under a private name
from __future__ import annotations

from gateway import ToolContext, tool

from .._scene import Scene


@tool(effect="external")
async def tally(ctx: ToolContext) -> str:
    """Add one to the tally."""
    scene: Scene = ctx.services
    scene.ran.append("tally")
    return "tallied"
