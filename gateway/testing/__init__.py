"""The kit for agent authors: a scripted model, a clock that leaps, crashes on demand, providers that need no
account. Its fixtures are in ``plugin``, which pytest loads by itself.

Names are looked up on first use, so that whoever runs pytest for something else waits for nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.engine.errors import InvalidInputError, ResumeAuthorizationError
    from gateway.testing.agents import AgentUnderTest, Turn
    from gateway.testing.inbox import Letters, MailUnderTest
    from gateway.testing.scripted import script
    from gateway.testing.time import FakeClock
    from gateway.testing.workspace import SlackUnderTest, Thread

__all__ = [
    "AgentUnderTest",
    "FakeClock",
    "InvalidInputError",
    "Letters",
    "MailUnderTest",
    "ResumeAuthorizationError",
    "SlackUnderTest",
    "Thread",
    "Turn",
    "script",
]

_HOMES = {
    "AgentUnderTest": "gateway.testing.agents",
    "FakeClock": "gateway.testing.time",
    "InvalidInputError": "gateway.engine.errors",
    "Letters": "gateway.testing.inbox",
    "MailUnderTest": "gateway.testing.inbox",
    "ResumeAuthorizationError": "gateway.engine.errors",
    "SlackUnderTest": "gateway.testing.workspace",
    "Thread": "gateway.testing.workspace",
    "Turn": "gateway.testing.agents",
    "script": "gateway.testing.scripted",
}


if not TYPE_CHECKING:  # a type checker shall know these names and refuse every other

    def __getattr__(name: str) -> object:
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module 'gateway.testing' has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(home), name)
        globals()[name] = value
        return value
