"""June as the rules of all channels need her: she does what she is told to."""

# ruff: noqa: TID252 - an agent directory is loaded under a private name
from __future__ import annotations

from gateway import Agent

from ._brain import Brain
from ._scene import Scene, build

STAFF = frozenset({"api:ada", "api:lead", "api:second", "api:stranger"})


async def authorize_answer(
    *,
    policy: str,
    scope: str | None,
    by: str,
    principal: object,
    request: object,
    speaker: object,
    services: object,
) -> bool:
    """``leads`` are two people; ``staff`` is whoever the platform lets in, where it knows; ``anybody`` is
    open to guests, too."""
    assert isinstance(services, Scene)
    match policy:
        case "leads":
            return by in services.leads
        case "staff":
            return by in STAFF or by.startswith("slack:")
        case _:
            return policy == "anybody"


agent = Agent(name="june", model=Brain(), services=build, authorize_answer=authorize_answer)
