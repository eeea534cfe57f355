"""What stands beside an agent under test: somebody else's service, on the test's own loop."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping
from typing import TypeVar

from gateway.testing.agents import AgentUnderTest

T = TypeVar("T")

PATIENCE = 15.0
"""Seconds a test waits for something to be seen."""


class Beside(ABC):
    """``agent`` is who uses it, as soon as one runs."""

    def __init__(self, loop: asyncio.Runner) -> None:
        self._loop = loop
        self.agent: AgentUnderTest | None = None

    @property
    @abstractmethod
    def settings(self) -> Mapping[str, str]:
        """What the agent's gateway is told to use it."""

    @abstractmethod
    async def _wait(self, holds: Callable[[], bool], seconds: float) -> None:
        """Until it holds. Raises ``TimeoutError``."""

    def until(self, holds: Callable[[], T | None], what: str) -> T:
        """Wait for something to be there. ``what`` says it for a test that fails."""
        agent, found = self.agent, list[T]()

        def look() -> bool:
            seen = holds()
            if seen is not None:
                found.append(seen)
            return seen is not None or (agent is not None and agent.store.dead)

        async def wait() -> None:
            await self._wait(look, PATIENCE)

        try:
            self.run(wait() if agent is None else agent.outlived(wait))
        except TimeoutError:
            raise AssertionError(f"{what} didn't come in {PATIENCE:.0f} s") from None
        return found[-1]

    def run(self, work: Coroutine[object, object, T]) -> T:
        return self._loop.run(work)
