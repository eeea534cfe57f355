"""A host with an agent's schedules and one channel, whose clock leaps when it is told to."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from channels.protocol import Channel
from gateway.definition.author import Schedule, Target
from gateway.engine.kinds import Millis
from gateway.engine.ledger import OccurrenceRow
from gateway.engine.ports import SessionStore
from gateway.engine.runtime import Runtime
from gateway.engine.session import Session
from gateway.host.channels.context import Context, Surroundings
from gateway.host.channels.registry import Registry
from gateway.host.channels.waking import WakingSink
from gateway.host.channels.ways import Ways
from gateway.host.metrics import Metrics
from gateway.schedules.book import Book
from gateway.schedules.plan import ScheduleState
from gateway.schedules.runner import Runner
from gateway.schedules.state import read
from gateway.sinks.local import LocalSink
from gateway.testing.time import FakeClock
from tests.conformance.engine.kit import until
from tests.unit.host.channels.echo import Echo
from tests.unit.host.world import World, agent_for

PARIS, UTC = ZoneInfo("Europe/Paris"), ZoneInfo("UTC")
"""Read now: a host reads those of its schedules before it serves."""
DIGEST = Schedule(
    cron="0 9 * * 1-5", timezone="Europe/Paris", seed="good morning", target="echo:ops"
)


def at(text: str, zone: ZoneInfo = PARIS) -> Millis:
    return Millis(int(datetime.fromisoformat(text).replace(tzinfo=zone).timestamp() * 1000))


MONDAY = at("2026-11-30T08:59:50")
NINE = at("2026-11-30T09:00")


@dataclass(slots=True)
class House:
    time: FakeClock
    runtime: Runtime
    book: Book
    runner: Runner
    ways: Ways
    echo: Echo
    world: World = field(default_factory=World)

    def leap_to(self, moment: Millis) -> None:
        self.time.tick((moment - self.time.now()) / 1000)

    async def look(self, name: str = "digest") -> Millis | None:
        return await self.runner.look(name, self.book.schedules[name])

    async def ticks(self, name: str | None = None) -> list[OccurrenceRow]:
        """What came of them, the first due first."""
        rows = await self.runtime.store.ledger.occurrences("june", name, 500)
        return list(reversed(rows))

    async def outcomes(self, name: str | None = None) -> list[tuple[str, str]]:
        return [(row.outcome, row.why) for row in await self.ticks(name)]

    async def state(self, name: str = "digest") -> ScheduleState:
        state = (await read(self.runtime.store.ledger, "june", name)).state
        assert state is not None
        return state

    async def known(self, count: int) -> None:
        """Wait until the state of this many schedules is kept."""
        documents = self.runtime.store.ledger.documents

        async def kept() -> bool:
            return len(await documents("schedule")) >= count

        await until(kept)

    async def ticked(self, count: int) -> None:
        """Wait until this many ticks have an outcome."""

        async def ended() -> bool:
            return len(await self.ticks()) >= count

        await until(ended)

    async def turns(self) -> list[str]:
        return [one.ref.key for one in await self.runtime.store.list_turns()]

    def session(self, key: str) -> Session:
        return self.runtime.session("june", key)

    async def shows_all(self, text: str, *, times: int) -> None:
        """Wait until it is shown so often, among whatever else is, and all that was to be shown is: a
        leap in the middle of it ends the lease, and this channel then shows a thing again."""
        await until(lambda: [shown for _, shown in self.echo.shown].count(text) == times)
        deliveries = self.runtime.store.ledger.deliveries

        async def done() -> bool:
            return all(row.state == "done" for row in await deliveries(limit=500))

        await until(done)

    async def shows(self, *texts: str) -> None:
        await until(lambda: [text for _, text in self.echo.shown] == list(texts))


def parsed(schedule: Schedule) -> Schedule:
    """As it comes out of the directory: its target understood."""
    target = schedule.target
    return replace(schedule, target=Target.parse(target)) if isinstance(target, str) else schedule


@asynccontextmanager
async def house(
    store: SessionStore,
    schedules: Mapping[str, Schedule] | None = None,
    *,
    now: Millis = MONDAY,
    channels: bool = True,
    runs: bool = False,
) -> AsyncGenerator[House, None]:
    """On an open store. ``runs``: the runner looks by itself, else only when it is told to."""
    echo, time, world = Echo(), FakeClock(now), World()
    mounted: dict[str, Channel] = {"echo": echo} if channels else {}
    registry = Registry(channels=mounted, missing={"echo": ("ECHO_TOKEN",)})
    agent = agent_for(world)
    runtime = Runtime({agent.name: agent}, store, WakingSink(LocalSink()), clock=time.clock)
    around = Surroundings(registry=registry, metrics=Metrics(), waits=time)
    given = {name: parsed(one) for name, one in (schedules or {"digest": DIGEST}).items()}
    book = Book(runtime, "june", given, Context(runtime, "june", registry))
    runner = Runner(book, time)
    ways = Ways(runtime, "june", around, runner if runs else None)
    async with runtime:
        await ways.start()
        try:
            yield House(time, runtime, book, runner, ways, echo, world)
        finally:
            world.gate.set()
            await ways.stop()
