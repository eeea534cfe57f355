"""Paying, once somebody agrees."""

# ruff: noqa: TID252 - an agent directory is loaded under a private name
from __future__ import annotations

from gateway import ToolContext, tool

from .._scene import Scene

SOON = 12.0
"""Seconds until a request expires that is said to."""
TWO_ABOVE = 500


@tool(effect="money", key=("amount",))
async def pay(ctx: ToolContext, amount: int, policy: str, soon: bool) -> dict[str, object]:
    """Pay; above a sum it takes two people."""
    scene: Scene = ctx.services
    agreed = await ctx.request_input(
        id="pay",
        prompt=f"Pay {amount} dollars?",
        answerers={"policy": policy, "quorum": 2 if amount > TWO_ABOVE else 1},
        expires_in=SOON if soon else None,
        on_expiry=False,
    )
    if agreed is True:
        scene.ran.append(f"pay {amount}")
    return {"paid": agreed is True}
