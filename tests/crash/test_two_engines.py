"""Two engines on one store: a frozen one loses its turn to the other, thaws, and writes nothing.

The control runs with the fence off: the same checks must fail, or they prove nothing.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from gateway.engine.agent import AgentDef
from gateway.engine.errors import AlreadyAnsweredError
from gateway.engine.events import TurnEvent
from gateway.engine.kinds import SessionRef
from gateway.engine.model import ModelReply, ModelRequest
from gateway.engine.outcomes import TurnInput
from gateway.engine.ports import SessionStore
from gateway.engine.runtime import Runtime
from gateway.engine.steps.context import ToolContext
from gateway.engine.tool import tool
from gateway.engine.wire.events import event_from
from gateway.models.scripted import ScriptedModel
from gateway.sinks.local import LocalSink
from gateway.stores.postgres import PostgresStore
from gateway.stores.sqlite import SqliteStore
from tests.support.engines import Link
from tests.support.turns import calls, replies

PATIENCE = 20.0
REF = SessionRef("june", "s")

pytestmark = pytest.mark.crash


@tool
async def forever(ctx: ToolContext) -> None:
    """Run until the test has seen enough."""
    effects = ctx.services
    assert isinstance(effects, Effects)
    effects.reached.set()
    await effects.free.wait()


@dataclass
class Effects:
    seen: list[str] = field(default_factory=list[str])
    freeze: Callable[[], None] = lambda: None
    """Called in the first engine's run of the call that will be stolen."""
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    free: asyncio.Event = field(default_factory=asyncio.Event)
    """The second engine waits in the stolen call until this is set."""


def agent(effects: Effects) -> AgentDef:
    @tool
    async def first(ctx: ToolContext) -> str:
        effects.seen.append("first")
        if effects.seen.count("first") == 1:
            effects.freeze()
        if effects.seen.count("first") == 2:
            effects.reached.set()
            await effects.free.wait()
        return "one"

    @tool
    async def second() -> str:
        effects.seen.append("second")
        return "two"

    @tool
    async def ask(ctx: ToolContext) -> bool:
        if ok := bool(await ctx.request_input(id="ok", prompt="Go on?")):
            effects.seen.append("approved")
        return ok

    plain = replies(calls(("first", {})), calls(("second", {})), ModelReply.say("done"))
    asking = replies(calls(("ask", {})), ModelReply.say("asked"))
    slow = replies(calls(("forever", {}), ("second", {})), ModelReply.say("late"))

    def script(request: ModelRequest) -> ModelReply:
        return {"plain": plain, "ask": asking, "slow": slow}[request.text](request)

    tools = {t.name: t for t in (first, second, ask, forever)}
    return AgentDef(name="june", model=ScriptedModel(script), tools=tools, services=effects)


@dataclass
class Pair:
    """Two engines, and a way to make the store forget that one of them lives."""

    open_links: Callable[[bool], list[Link]]
    forget: Callable[[str], None]
    effects: Effects = field(default_factory=Effects)
    engines: list[Runtime] = field(default_factory=list[Runtime])
    links: list[Link] = field(default_factory=list[Link])

    async def start(self, *, fenced: bool = True) -> tuple[Runtime, Runtime]:
        self.links = self.open_links(fenced)
        for link in self.links:
            await link.open()
            runtime = Runtime({"june": agent(self.effects)}, link, LocalSink())
            self.engines.append(runtime)
            await runtime.start()
        return self.engines[0], self.engines[1]

    async def close(self) -> None:
        self.effects.free.set()
        for link in self.links:
            link.thaw()
        for engine in self.engines:
            await engine.stop(grace=5)
        for link in self.links:
            await link.close()


@pytest.fixture(
    params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)],
)
async def pair(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Pair]:
    if request.param == "sqlite":
        path = tmp_path / "june.db"
        inner = SqliteStore(path)

        def forget(owner: str) -> None:
            with closing(sqlite3.connect(path)) as connection, connection:
                connection.execute("DELETE FROM gw_hosts WHERE id = ?", (owner,))

        made = Pair(lambda fenced: [Link(inner, fenced=fenced) for _ in range(2)], forget)
    else:
        url = str(request.getfixturevalue("postgres_url"))

        def forget_there(owner: str) -> None:
            with psycopg.connect(url) as connection:
                connection.execute("DELETE FROM gw.hosts WHERE id = %s", (owner,))

        made = Pair(
            lambda fenced: [Link(PostgresStore(url), fenced=fenced) for _ in range(2)],
            forget_there,
        )
    yield made
    await made.close()


async def log(store: SessionStore, turn_id: str) -> list[TurnEvent]:
    turn = await store.turn(REF, turn_id)
    assert turn is not None
    return [event_from(row, REF, turn_id) for row in await store.events(REF, turn.row)]


async def steal_and_thaw(pair: Pair, *, fenced: bool) -> None:
    """The first engine freezes before it can commit a call; the second runs that call again; the
    first thaws in the middle of it."""
    one, two = await pair.start(fenced=fenced)
    zombie = pair.links[0]
    pair.effects.freeze = zombie.freeze
    await one.session("june", "s").start(TurnInput(message="plain", turn_id="t1"))
    async with asyncio.timeout(PATIENCE):
        await zombie.frozen.wait()
        await asyncio.to_thread(pair.forget, one.owner)
        await pair.effects.reached.wait()
    zombie.accepted = 0
    zombie.thaw()
    async with asyncio.timeout(PATIENCE):
        while one.actor(REF).attempt is not None:
            await asyncio.sleep(0.005)
    pair.effects.free.set()
    async with asyncio.timeout(PATIENCE):
        await two.session("june", "s").result("t1")


async def check_stolen(pair: Pair) -> None:
    """What must hold after a steal: the zombie wrote nothing, and nothing shows that it was there."""
    two = pair.engines[1]
    assert pair.links[0].accepted == 0, "the zombie wrote"
    assert pair.effects.seen.count("second") == 1
    result = await two.session("june", "s").result("t1")
    assert (result.status, result.text) == ("completed", "done")
    messages = await two.session("june", "s").transcript()
    assert [m.role for m in messages] == [
        *("user", "assistant", "tool", "assistant", "tool", "assistant")
    ]
    events = await log(pair.links[1], "t1")
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert sum(event.terminal for event in events) == 1


async def test_a_frozen_engine_that_thaws_writes_nothing(pair: Pair) -> None:
    await steal_and_thaw(pair, fenced=True)
    await check_stolen(pair)


async def test_without_the_fence_the_same_checks_fail(pair: Pair) -> None:
    await steal_and_thaw(pair, fenced=False)
    with pytest.raises(AssertionError):
        await check_stolen(pair)


async def test_of_two_answers_on_two_engines_one_wins(pair: Pair) -> None:
    one, two = await pair.start()
    session = one.session("june", "s")
    await session.start(TurnInput(message="ask", turn_id="t1"))
    async with asyncio.timeout(PATIENCE):
        asked = (await session.result("t1")).request
    assert asked is not None

    async def decide(engine: Runtime, by: str) -> str:
        try:
            await engine.session("june", "s").resume("t1", asked.id, True, by=by)
        except AlreadyAnsweredError as lost:
            return f"lost to {lost.by}"
        return "won"

    async with asyncio.TaskGroup() as group:
        a = group.create_task(decide(one, "cli:a"))
        b = group.create_task(decide(two, "cli:b"))
    assert {a.result(), b.result()} in ({"won", "lost to cli:a"}, {"won", "lost to cli:b"})
    async with asyncio.timeout(PATIENCE):
        assert (await two.session("june", "s").result("t1")).status == "completed"
        assert (await session.result("t1")).status == "completed"
    assert pair.effects.seen.count("approved") == 1


async def test_a_cancel_on_the_other_engine_is_obeyed(pair: Pair) -> None:
    one, two = await pair.start()
    await one.session("june", "s").start(TurnInput(message="slow", turn_id="t1"))
    async with asyncio.timeout(PATIENCE):
        await pair.effects.reached.wait()
        await two.session("june", "s").cancel("t1")
        attempt = one.actor(REF).attempt or two.actor(REF).attempt
        assert attempt is not None
        while attempt._stop is None:
            await asyncio.sleep(0.01)
        pair.effects.free.set()
        result = await two.session("june", "s").result("t1")
    assert (result.status, result.error) == ("cancelled", {"reason": "requested"})
    assert "second" not in pair.effects.seen


async def test_a_reset_on_the_other_engine_is_carried_out(pair: Pair) -> None:
    one, two = await pair.start()
    await one.session("june", "s").start(TurnInput(message="slow", turn_id="t1"))
    async with asyncio.timeout(PATIENCE):
        await pair.effects.reached.wait()
        async with asyncio.TaskGroup() as group:
            done = group.create_task(two.session("june", "s").reset())
            attempt = one.actor(REF).attempt or two.actor(REF).attempt
            assert attempt is not None
            while attempt._stop is None:
                await asyncio.sleep(0.01)
            pair.effects.free.set()
    assert done.result().generation == 1
    assert (await one.session("june", "s").result("t1")).error == {"reason": "reset"}


async def test_a_reader_on_the_other_engine_sees_the_whole_log(pair: Pair) -> None:
    one, two = await pair.start()
    await one.session("june", "s").start(TurnInput(message="ask", turn_id="t1"))
    seen: list[TurnEvent] = []

    async def watch() -> None:
        async for event in two.session("june", "s").observe("t1"):
            seen.append(event)  # noqa: PERF401 - one by one as they come

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        group.create_task(watch())
        asked = (await one.session("june", "s").result("t1")).request
        assert asked is not None
        await one.session("june", "s").resume("t1", asked.id, True)
    assert [event for event in seen if event.seq] == await log(pair.links[0], "t1")


async def test_many_messages_sent_to_both_run_once_each_and_in_order(pair: Pair) -> None:
    one, two = await pair.start()
    pair.effects.free.set()
    ids = [f"t{n}" for n in range(8)]
    for n, turn_id in enumerate(ids):
        engine = (one, two)[n % 2]
        await engine.session("june", "s").start(TurnInput(message="plain", turn_id=turn_id))
    async with asyncio.timeout(PATIENCE):
        for turn_id in ids:
            assert (await two.session("june", "s").result(turn_id)).status == "completed"
    assert (pair.effects.seen.count("first"), pair.effects.seen.count("second")) == (8, 8)
    messages = await one.session("june", "s").transcript()
    assert [m.turn_id for m in messages if m.role == "user"] == ids
