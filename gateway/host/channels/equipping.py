"""What channels bring with them: tools of their own, what is read before a turn begins, how often their
platforms may be called.

The last two are optional: a method ``preparer() -> Preparer | None``, an attribute ``budgets``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import cast

from typing_extensions import override

from channels.protocol import Channel
from gateway.engine.agent import AgentDef, Surface
from gateway.engine.errors import ConfigError
from gateway.engine.ports import Preparer
from gateway.engine.struct import replace
from gateway.engine.tool import Tool
from gateway.outbox.pacing import Rule


class _Surfaces(Mapping[str, Surface]):
    """The author's surfaces, with each channel's tools denied to every other source. It has one for
    any source, since those that nobody named mustn't have them either."""

    def __init__(self, named: Mapping[str, Surface], owners: Mapping[str, Collection[str]]) -> None:
        self._named = named
        self._owners = owners

    @override
    def __getitem__(self, source: str) -> Surface:
        own = self._named.get(source, Surface())
        foreign = {tool for tool, owners in self._owners.items() if source not in owners}
        return replace(own, deny_tools=frozenset(own.deny_tools | foreign))

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    @override
    def __len__(self) -> int:
        return len(self._named)


def with_tools(agent: AgentDef, channels: Mapping[str, Channel]) -> AgentDef:
    """The agent with its channels' tools. Raises ``ConfigError`` for a name that is taken."""
    tools: dict[str, Tool] = dict(agent.tools)
    owners: dict[str, set[str]] = {}
    for source, channel in channels.items():
        for tool in channel.tools:
            if tool.name in agent.tools or tools.get(tool.name, tool) is not tool:
                raise ConfigError(
                    f"the channel {source} brings a tool {tool.name}, and {agent.name} has one"
                    " of that name already",
                    fix="rename the agent's own tool, and its file",
                )
            tools[tool.name] = tool
            owners.setdefault(tool.name, set()).add(source)
    if not owners:
        return agent
    return replace(agent, tools=tools, surfaces=_Surfaces(agent.surfaces, owners))


def preparers(channels: Mapping[str, Channel]) -> dict[str, Preparer]:
    """By source, of those channels that have something to read before a turn begins."""
    found: dict[str, Preparer] = {}
    for source, channel in channels.items():
        make = cast("Callable[[], Preparer | None] | None", getattr(channel, "preparer", None))
        preparer = make() if make is not None else None
        if preparer is not None:
            found[source] = preparer
    return found


def budgets(channels: Mapping[str, Channel]) -> dict[str, Rule]:
    """Calls a minute, and how many at once, by the platform's method."""
    found: dict[str, Rule] = {}
    for channel in channels.values():
        found |= cast("Mapping[str, Rule]", getattr(channel, "budgets", {}))
    return found
