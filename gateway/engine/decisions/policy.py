"""Policies per source: which prompt and which tools a turn gets. Pure.

The surface is frozen into the turn when it first begins; on resume, what is denied *today* is
denied too.
"""

from __future__ import annotations

from functools import lru_cache
from typing import cast

from gateway.engine.agent import AgentDef, Surface
from gateway.engine.kinds import Begins, Json
from gateway.engine.model import Edition
from gateway.engine.struct import struct
from gateway.engine.tool import Tool
from gateway.engine.wire import WIRE_VERSION, dumps, make_edition, versioned


@struct(frozen=True, slots=True)
class FrozenSurface:
    """The policy of a turn's source, as it rides with the turn."""

    source: str
    deny: frozenset[str]

    @lru_cache(maxsize=256)  # noqa: B019 - one for each source of an agent, and every turn asks
    def body(self) -> str:
        deny: list[Json] = [*sorted(self.deny)]
        return dumps({"v": WIRE_VERSION, "source": self.source, "deny": deny})


Terms = tuple[FrozenSurface, Edition]
"""What a turn begins with."""


def surface_from(body: str) -> FrozenSurface:
    value = versioned(body)
    deny = cast("list[Json]", value["deny"])
    return FrozenSurface(str(value["source"]), frozenset(str(name) for name in deny))


def freeze_surface(agent: AgentDef, source: str, trigger: Begins = "proactive") -> FrozenSurface:
    surface = agent.surfaces.get(source, Surface())
    unasked = {name for name, tool in agent.tools.items() if tool.unasked}
    denied = unasked if trigger == "inbound" else set[str]()
    return FrozenSurface(source, frozenset(surface.deny_tools | denied))


def runnable(
    agent: AgentDef, edition: Edition, then: FrozenSurface, today: AgentDef
) -> dict[str, Tool]:
    """What a turn may run of the agent that it began as: listed in its edition, denied neither when
    it began nor by the agent as it is today."""
    listed = {spec.name for spec in edition.tools}
    denied = then.deny | freeze_surface(today, then.source).deny
    return {
        name: tool for name, tool in agent.tools.items() if name in listed and name not in denied
    }


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
