"""Short words for the engine's suite: one database, the processes that come and go on it, an agent
in a line, and what a turn left."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest
from typing_extensions import override

from gateway.engine.agent import AgentDef
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.events import TurnEvent
from gateway.engine.kinds import Json, Millis, SessionRef, SessionStatus, Speaker, TurnRow
from gateway.engine.limits import SYSTEM_CLOCK, Clock, Limits
from gateway.engine.messages import Message, ToolResult
from gateway.engine.model import ModelReply, ModelRequest
from gateway.engine.outcomes import PendingInput, TurnInput, TurnResult
from gateway.engine.ports import EventSink, Preparer, SessionStore
from gateway.engine.records import MessageRow
from gateway.engine.runtime import Runtime
from gateway.engine.session import Session
from gateway.engine.steps.attempt import Attempt
from gateway.engine.tool import Tool
from gateway.engine.wire.events import event_from
from gateway.models.scripted import ScriptedModel
from gateway.sinks.local import LocalSink
from gateway.testing.crash import CrashingStore, kill
from tests.conformance.engine.ways.attentive import Attentive
from tests.support.turns import calls, replies

T = TypeVar("T")
Script = ModelReply | Sequence[ModelReply] | Callable[[ModelRequest], Any]

PATIENCE = 20.0
"""Seconds a test waits before it believes that nothing comes."""
EPOCH = Millis(1_800_000_000_000)

SLACK = Speaker(id="slack:T1:U1", name="Ada", level="provider")
OTHER = Speaker(id="slack:T1:U2", name="Bob", level="provider")
MAIL = Speaker(id="email:ada@example.org", level="sender")
STRANGER = Speaker(id="web:visitor", level="none")

say = ModelReply.say


class Hold:
    """A place where the process waits until the test lets it go on."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self._free = asyncio.Event()

    async def here(self) -> None:
        self.reached.set()
        await self._free.wait()

    async def wait(self) -> None:
        async with asyncio.timeout(PATIENCE):
            await self.reached.wait()

    def go(self) -> None:
        self._free.set()


class Hands:
    """A clock that moves when the test moves it: wall and monotonic together."""

    def __init__(self) -> None:
        self.passed = 0.0

    @property
    def clock(self) -> Clock:
        return Clock(now=lambda: Millis(EPOCH + int(self.passed * 1000)), monotonic=self._moment)

    def _moment(self) -> float:
        return 1000.0 + self.passed

    def forward(self, seconds: float) -> None:
        self.passed += seconds


class Ground(CrashingStore):
    """A store that can also be away for a while, and hold a write or a read until told."""

    def __init__(self, inner: SessionStore) -> None:
        super().__init__(inner)
        self.down = False
        self.holds: dict[str, Hold] = {}
        self.writes: list[str] = []

    def hold(self, name: str) -> Hold:
        return self.holds.setdefault(name, Hold())

    async def _pass(self, name: str) -> None:
        hold = self.holds.pop(name, None)
        if hold is not None:
            await hold.here()
        if self.down:
            raise StoreUnavailableError("the store is away")

    @override
    async def _write(self, name: str, write: Callable[[], Awaitable[T]]) -> T:
        await self._pass(name)
        self.writes.append(name)
        result = await super()._write(name, write)
        await self._pass(f"after {name}")
        return result

    @override
    def _alive(self) -> SessionStore:
        if self.down:
            raise StoreUnavailableError("the store is away")
        return super()._alive()

    @override
    async def messages(
        self, ref: SessionRef, generation: int, after: int = -1, limit: int | None = None
    ) -> Sequence[MessageRow]:
        await self._pass("messages")
        return await super().messages(ref, generation, after, limit)


@dataclass
class Bench:
    """One database. ``start`` begins a process on it, ``kill`` ends it without a word, ``drain`` as
    a deploy would."""

    make: Callable[[], SessionStore]
    forget: Callable[[], None] = lambda: None
    """Make the backend forget when hosts were last heard of."""
    query: Callable[[str], list[tuple[object, ...]]] | None = None
    """Read the backend's own tables, named as SQLite has them."""
    stores: list[Ground] = field(default_factory=list[Ground])
    runtimes: list[Runtime] = field(default_factory=list[Runtime])
    agents: dict[str, AgentDef] = field(default_factory=dict[str, AgentDef])
    followed: set[TurnRow] = field(default_factory=set[TurnRow])
    """Turns that a delivery shows; no write may leave it behind (``Attentive``)."""
    silent: list[str] = field(default_factory=list[str])

    @property
    def store(self) -> Ground:
        return self.stores[-1]

    @property
    def runtime(self) -> Runtime:
        return self.runtimes[-1]

    async def open(self) -> None:
        ground = Ground(Attentive(self.make(), self.followed, self.silent))
        await ground.open()
        self.stores.append(ground)

    def need_durable(self) -> None:
        if not self.store.capabilities.durable:
            pytest.skip("nothing survives the process")

    def need_handle(self) -> None:
        if not self.store.capabilities.handle:
            pytest.skip("sync tools get no handle")

    async def start_and_hold(self, session: Session) -> Hold:
        """Start turn ``t1``; it is in the store, and nothing of it has run until ``go()``."""
        gate = self.store.hold("after begin" if self.runtime.shared else "after enter")

        async def start() -> None:
            await session.start(TurnInput(message="go", turn_id="t1"))

        self.runtime.tasks.run(start(), "start")
        await gate.wait()
        return gate

    async def start(
        self,
        *agents: AgentDef,
        limits: Limits | None = None,
        clock: Clock = SYSTEM_CLOCK,
        sink: EventSink | None = None,
        max_sessions: float = 1000,
        preparers: Mapping[str, Preparer] | None = None,
    ) -> Runtime:
        self.agents.update({agent.name: agent for agent in agents})
        runtime = Runtime(
            dict(self.agents),
            self.store,
            sink or LocalSink(),
            limits=limits,
            clock=clock,
            max_sessions=max_sessions,
            preparers=preparers,
        )
        self.runtimes.append(runtime)
        await runtime.start()
        return runtime

    async def kill(self) -> None:
        """The process is gone: nothing of it writes any more. A new store is open afterwards."""
        self.need_durable()
        await kill(self.runtime, self.store)
        await self._reopen()

    async def drain(self, grace: float = 5.0) -> None:
        self.need_durable()
        await self.runtime.stop(grace=grace)
        await self._reopen()

    async def _reopen(self) -> None:
        await self.store.close()
        await asyncio.to_thread(self.forget)
        await self.open()

    async def close(self) -> None:
        for runtime in self.runtimes:
            if not runtime.draining:
                await runtime.stop(grace=0.5)
        for store in self.stores:
            await store.close()
        assert not self.silent, "facts that nobody who watches is told of"

    def session(self, key: str = "s", agent: str = "june") -> Session:
        return self.runtime.session(agent, key)

    async def begin(self, message: str = "go", turn_id: str = "t1", *, key: str = "s") -> Session:
        """Start a turn and don't wait for it; its session."""
        session = self.session(key)
        await session.start(TurnInput(message=message, turn_id=turn_id))
        return session

    @property
    def attempt(self) -> Attempt:
        """The attempt under way, where one session runs."""
        found = self.runtime.actors()[0].attempt
        assert found is not None
        return found

    async def stands(self, status: SessionStatus) -> bool:
        return await self.session().status() == status


def june(*tools: Tool, script: Script | None = None, **more: Any) -> AgentDef:
    """An agent whose nth reply in a turn is the nth of ``script``."""
    if script is None:
        script = say("done")
    if isinstance(script, ModelReply):
        script = [script]
    reply = replies(*script) if isinstance(script, Sequence) else script
    more.setdefault("model", ScriptedModel(reply))
    return AgentDef(**{"name": "june", "tools": {t.name: t for t in tools}, **more})


def once(name: str, *, end: str = "done", **arguments: Json) -> list[ModelReply]:
    """The model calls one tool, then answers."""
    return [calls((name, arguments)), say(end)]


async def soon(work: Awaitable[T]) -> T:
    async with asyncio.timeout(PATIENCE):
        return await work


async def until(true: Callable[[], Awaitable[bool] | bool]) -> None:
    """Wait for something that only shows by looking."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = true()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.005)


async def run(session: Session, message: str = "go", **more: Any) -> TurnResult:
    """One turn to its rest: its end, or a park."""
    started = await session.start(TurnInput(message=message, **more))
    return await soon(session.result(started.turn_id))


async def park(session: Session, message: str = "go", **more: Any) -> PendingInput:
    result = await run(session, message, **more)
    assert result.status == "suspended", result
    assert result.request is not None
    return result.request


async def answer(session: Session, asked: PendingInput, value: Json, **more: Any) -> TurnResult:
    """Answer and wait for the turn's next rest."""
    await session.resume(asked.turn_id, asked.id, value, **more)
    return await soon(session.result(asked.turn_id))


async def logged(bench: Bench, turn_id: str, key: str = "s") -> list[TurnEvent]:
    """The turn's durable events as the log has them."""
    ref = SessionRef("june", key)
    turn = await bench.store.turn(ref, turn_id)
    assert turn is not None
    rows = await bench.store.events(ref, turn.row)
    return [event_from(row, ref, turn_id) for row in rows]


async def kinds(bench: Bench, turn_id: str, key: str = "s") -> list[str]:
    events = await logged(bench, turn_id, key)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    return [event.type for event in events]


def results(messages: Sequence[Message]) -> list[ToolResult]:
    return [result for message in messages for result in message.results]


async def outputs(session: Session) -> list[Json]:
    """What the model was told of its calls."""
    return [result.output for result in results(await session.transcript())]


async def error_of(session: Session, number: int = 0) -> str:
    """The error that the model was told of one call."""
    result = results(await session.transcript())[number]
    assert result.is_error
    assert isinstance(result.output, dict)
    return str(result.output["error"])


async def texts(session: Session) -> list[tuple[str, str]]:
    """The transcript as roles and texts."""
    return [(message.role, message.text) for message in await session.transcript()]


def no_orphans(messages: Sequence[Message]) -> None:
    """Each call has exactly one result, right after the reply that asked, in order."""
    owed: list[str] = []
    for message in messages:
        for result in message.results:
            assert owed, f"a result nobody asked for: {result}"
            assert owed.pop(0) == result.call_id
        if message.role != "tool":
            assert not owed, f"calls without a result: {owed}"
        owed.extend(call.id for call in message.calls)
    assert not owed, f"calls without a result: {owed}"


async def audits(bench: Bench) -> list[tuple[object, ...]]:
    """(kind, turn, subject, outcome) of each audit row, where a test can read them."""
    if bench.query is None:
        pytest.skip("this backend's audit table can't be read from here")
    return await asyncio.to_thread(
        bench.query, "SELECT kind, turn_id, subject, outcome FROM gw_audit ORDER BY 1, 2, 3"
    )
