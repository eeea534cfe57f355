"""Who asks may leave, and a process may be told to stop, while the store still writes."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

from gateway.engine.kinds import SessionRef
from gateway.engine.limits import Limits
from gateway.engine.model import ModelReply, ModelRequest
from gateway.engine.outcomes import TurnInput
from tests.conformance.engine.kit import Bench, Hold, june, say, soon, until


class Waiting:
    """A model that waits until it may answer, and notes who asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.free = asyncio.Event()

    async def __call__(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request.text)
        await self.free.wait()
        return say(f"re: {request.text}")


class TestLeaving:
    async def test_a_stop_during_a_start_blames_nobody(self, bench: Bench) -> None:
        bench.need_durable()
        agent = june(script=lambda request: say(f"re: {request.text}"))
        await bench.start(agent)
        gate = await bench.start_and_hold(bench.session())
        old = bench.runtime
        async with asyncio.TaskGroup() as group:
            group.create_task(bench.drain())
            await until(lambda: old.draining)
            gate.go()
        record = await bench.store.turn(SessionRef("june", "s"), "t1")
        assert record is not None
        assert (record.attempt_at, record.crashes, record.suspect) == (None, 0, 0)
        await bench.start(agent)
        assert (await soon(bench.session().result("t1"))).text == "re: go"

    async def test_a_replacement_is_obeyed_though_who_asked_for_it_left(self, bench: Bench) -> None:
        model = Waiting()
        await bench.start(june(script=model))
        session = await bench.begin("1", "t1")
        await until(lambda: model.asked == ["1"])
        gate = bench.store.hold("after enter")
        await _leave(session.start(TurnInput(message="2", turn_id="t2"), replace=True), gate)
        assert (await soon(session.result("t1"))).error == {"reason": "replaced"}
        model.free.set()
        assert (await soon(session.result("t2"))).text == "re: 2"

    async def test_a_cancel_is_obeyed_though_who_asked_for_it_left(self, bench: Bench) -> None:
        model = Waiting()
        await bench.start(june(script=model))
        session = await bench.begin("1", "t1")
        await until(lambda: model.asked == ["1"])
        gate = bench.store.hold("after cancel")
        await _leave(session.cancel("t1"), gate)
        assert (await soon(session.result("t1"))).error == {"reason": "requested"}

    async def test_a_session_keeps_its_actor_while_a_turn_is_accepted(self, bench: Bench) -> None:
        model = Waiting()
        await bench.start(june(script=model), limits=Limits(running_turns=3), max_sessions=1)
        for key in ("a", "b", "c"):
            await bench.begin(key, key, key=key)
        await until(lambda: sorted(model.asked) == ["a", "b", "c"])
        async with asyncio.TaskGroup() as group:
            for key in ("x", "y"):
                group.create_task(bench.begin(key, key, key=key))
        kept = {actor.world.ref.key for actor in bench.runtime.actors()}
        assert {"x", "y"} <= kept
        model.free.set()
        for key in ("x", "y"):
            assert (await soon(bench.session(key).result(key))).text == f"re: {key}"
        assert sorted(model.asked) == ["a", "b", "c", "x", "y"]


async def _leave(asking: Coroutine[object, object, object], gate: Hold) -> None:
    """Ask, and go away between the commit and its answer."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(asking)
        await gate.wait()
        task.cancel()
    gate.go()
