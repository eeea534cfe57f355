"""The agent directory: a folder of prompts, tools, skills and schedules becomes an agent.

``load_agent`` reads it; ``Loaded.start`` builds its services. Every mistake is found before
anything starts, and all are reported together.
"""

from __future__ import annotations

from gateway.definition.author import Agent, Reply, Schedule, Target
from gateway.definition.channels import ChannelFactory
from gateway.definition.choice import SCRIPTED, ModelFactory, ScriptedFactory
from gateway.definition.load import BUILT_IN_SOURCES, DirectoryAgent, Loaded, load_agent
from gateway.definition.problems import DefinitionError, Problem

__all__ = [
    "BUILT_IN_SOURCES",
    "SCRIPTED",
    "Agent",
    "ChannelFactory",
    "DefinitionError",
    "DirectoryAgent",
    "Loaded",
    "ModelFactory",
    "Problem",
    "Reply",
    "Schedule",
    "ScriptedFactory",
    "Target",
    "load_agent",
]
