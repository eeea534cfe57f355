"""What an agent's author imports, and nothing else.

Names are looked up on first use, so that ``import gateway`` costs nothing it doesn't need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.definition.author import Agent, Schedule, Target
    from gateway.engine.agent import Surface
    from gateway.engine.errors import FatalToolError
    from gateway.engine.model import ModelReply, ModelRequest
    from gateway.engine.steps.context import ToolContext
    from gateway.engine.tool import Tool, tool

__all__ = [
    "Agent",
    "FatalToolError",
    "ModelReply",
    "ModelRequest",
    "Schedule",
    "Surface",
    "Target",
    "Tool",
    "ToolContext",
    "tool",
]

_HOMES = {
    "Agent": "gateway.definition.author",
    "FatalToolError": "gateway.engine.errors",
    "ModelReply": "gateway.engine.model",
    "ModelRequest": "gateway.engine.model",
    "Schedule": "gateway.definition.author",
    "Surface": "gateway.engine.agent",
    "Target": "gateway.definition.author",
    "Tool": "gateway.engine.tool",
    "ToolContext": "gateway.engine.steps.context",
    "tool": "gateway.engine.tool",
}


if not TYPE_CHECKING:  # a type checker shall know these names and refuse every other

    def __getattr__(name: str) -> object:
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module 'gateway' has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(home), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
