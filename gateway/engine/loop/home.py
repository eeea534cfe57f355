"""What the parts of the loop need of the process they live in."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

from gateway.engine.agent import AgentDef
from gateway.engine.decisions.policy import Terms
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.events import TurnEvent
from gateway.engine.kinds import Begins, SessionRef
from gateway.engine.limits import Clock, Limits
from gateway.engine.loop.gates import Gate
from gateway.engine.ports import EventSink, Preparer, SessionStore
from gateway.engine.records import TurnRecord
from gateway.engine.steps.attempt import World
from gateway.engine.steps.tasks import Tasks


class Home(Protocol):
    """The runtime, as an actor sees it."""

    store: SessionStore
    sink: EventSink
    limits: Limits
    clock: Clock
    tasks: Tasks
    deciding: Tasks
    gate: Gate
    preparers: Mapping[str, Preparer]
    owner: str
    shared: bool
    """Other processes may write to the store."""
    poll: float
    """Seconds after which a waiting reader looks at the store again."""
    draining: bool
    stopping: asyncio.Event
    problem: str | None
    problem_until: float

    def store_failed(self, error: StoreUnavailableError) -> None: ...

    stored_editions: set[str]

    def edition_for(self, agent: AgentDef, source: str, trigger: Begins) -> Terms: ...

    async def publish(self, ref: SessionRef, events: Sequence[TurnEvent]) -> None: ...

    async def report_failure(
        self, world: World, record: TurnRecord, error: BaseException
    ) -> None: ...
