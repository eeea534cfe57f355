"""The runtime, as those see it who reach for its actors: sessions, readers, recovery."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

from gateway.engine.agent import AgentDef
from gateway.engine.kinds import SessionRef, SessionStatus, Speaker
from gateway.engine.loop.actor import Actor
from gateway.engine.loop.home import Home
from gateway.engine.outcomes import Grant, Reset


class Keeper(Home, Protocol):
    agents: Mapping[str, AgentDef]

    def actor(self, ref: SessionRef) -> Actor: ...

    def actors(self) -> Sequence[Actor]: ...

    def queued(self) -> int: ...

    async def status(self, ref: SessionRef) -> SessionStatus: ...

    async def reset_done(
        self, ref: SessionRef, waiting: asyncio.Future[Reset], generation: int
    ) -> Reset: ...

    async def grant(
        self, ref: SessionRef, input_id: str, *, by: str, principal: Speaker | None
    ) -> Grant | None: ...
