"""A channel's tools are its turns' own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.engine.agent import AgentDef, Surface
from gateway.engine.decisions.policy import edition_for, freeze_surface
from gateway.engine.errors import ConfigError
from gateway.host.channels.equipping import preparers, with_tools
from tests.unit.host.channels.echo import Echo, echo_only
from tests.unit.host.world import World, agent_for


def tools_for(agent: AgentDef, source: str) -> set[str]:
    edition = edition_for(agent, freeze_surface(agent, source))
    return {name for name in agent.tools if f'"{name}"' in edition.body}


def test_only_its_own_turns_get_them() -> None:
    plain = replace(
        agent_for(World()),
        surfaces={"echo": Surface(deny_tools={"gift"}), "api": Surface(deny_tools={"vote"})},
    )
    agent = with_tools(plain, {"echo": Echo()})
    every = set(plain.tools)
    assert tools_for(agent, "echo") == every - {"gift"} | {"echo_only"}
    assert tools_for(agent, "api") == every - {"vote"}
    for source in ("web", "one that nobody has heard of"):
        assert tools_for(agent, source) == every
    assert set(agent.surfaces) == {"echo", "api"}
    assert len(agent.surfaces) == 2


def test_an_agent_without_them_stays_as_it_is() -> None:
    agent = agent_for(World())
    assert with_tools(agent, {"echo": Echo(tools=())}) is agent


def test_a_name_that_is_taken() -> None:
    agent = replace(agent_for(World()), tools={"echo_only": echo_only})
    with pytest.raises(ConfigError, match="channel echo brings a tool echo_only, and june has one"):
        with_tools(agent, {"echo": Echo()})


def test_a_tool_that_several_channels_bring_is_denied_to_the_others() -> None:
    plain = agent_for(World())
    agent = with_tools(plain, {"echo": Echo(), "other": Echo()})
    assert {"echo_only"} == tools_for(agent, "other") - set(plain.tools)
    assert tools_for(agent, "api") == set(plain.tools)


def test_who_reads_before_a_turn_begins() -> None:
    assert list(preparers({"echo": Echo()})) == ["echo"]
