"""An agent that does what it is told to, word by word, for what was reported of other gateways."""

# ruff: noqa: TID252 - an agent directory is loaded under a private name
from __future__ import annotations

from gateway import Agent
from gateway.models.scripted import ScriptedModel

from ._brain import reply
from ._desk import Desk, build


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
    """Each policy has a list of its own."""
    assert isinstance(services, Desk)
    return by in services.lists.get(policy, ())


agent = Agent(
    name="june",
    model=ScriptedModel(reply),
    services=build,
    authorize_answer=authorize_answer,
)
