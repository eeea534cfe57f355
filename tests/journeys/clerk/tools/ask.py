"""Something that a person has to agree to."""

from __future__ import annotations

from gateway import ToolContext, tool


@tool(effect="external")
async def ask(ctx: ToolContext, about: str, policy: str) -> str:
    """Ask whoever the policy names; without one, the person who asked."""
    agreed = await ctx.request_input(
        id="agree",
        prompt=f"Agree about {about}?",
        answerers={"policy": policy} if policy else None,
    )
    return f"{about} was {'agreed to' if agreed else 'refused'}"
