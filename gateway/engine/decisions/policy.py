"""Policies per source: which prompt and which tools a turn gets. Pure.

The surface is frozen into the turn when it first begins; on resume, what is denied *today* is
denied too.
"""

from __future__ import annotations

from typing import cast

from gateway.engine.agent import AgentDef, Surface
from gateway.engine.kinds import Json
from gateway.engine.model import Edition
from gateway.engine.struct import struct
from gateway.engine.wire import WIRE_VERSION, dumps, make_edition, versioned


@struct(frozen=True, slots=True)
class FrozenSurface:
    """The policy of a turn's source, as it rides with the turn."""

    source: str
    deny: frozenset[str]

    def body(self) -> str:
        deny: list[Json] = [*sorted(self.deny)]
        return dumps({"v": WIRE_VERSION, "source": self.source, "deny": deny})


def surface_from(body: str) -> FrozenSurface:
    value = versioned(body)
    deny = cast("list[Json]", value["deny"])
    return FrozenSurface(str(value["source"]), frozenset(str(name) for name in deny))


def freeze_surface(agent: AgentDef, source: str) -> FrozenSurface:
    surface = agent.surfaces.get(source, Surface())
    return FrozenSurface(source, frozenset(surface.deny_tools))


def system_prompt(agent: AgentDef, source: str) -> str:
    """The base prompt with the source's overlay: appended, or in its place."""
    overlay = agent.overlays.get(source, "")
    if not overlay:
        return agent.instructions
    if agent.surfaces.get(source, Surface()).mode == "replace":
        return overlay
    return f"{agent.instructions}\n\n{overlay}" if agent.instructions else overlay


def edition_for(agent: AgentDef, surface: FrozenSurface) -> Edition:
    """System prompt and tools as they go on the wire for turns of this source, tools by name."""
    tools = tuple(
        agent.tools[name].spec for name in sorted(agent.tools) if name not in surface.deny
    )
    return make_edition(
        model=agent.model.name,
        system=system_prompt(agent, surface.source),
        tools=tools,
        settings=agent.model.settings,
    )
