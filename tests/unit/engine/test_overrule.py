"""A call that outlasts its cancellation's grace can't hold the session."""

from __future__ import annotations

import asyncio

import pytest

from gateway.engine.agent import AgentDef
from gateway.engine.limits import Limits
from gateway.engine.loop.recovery import TICK
from gateway.engine.model import ModelReply, ModelRequest
from gateway.engine.outcomes import TurnInput
from gateway.engine.runtime import Runtime
from gateway.engine.steps.context import ToolContext
from gateway.engine.tool import tool
from gateway.models.scripted import ScriptedModel
from gateway.sinks.local import LocalSink
from gateway.stores import open_store
from tests.conformance.engine.kit import Ground


@tool
async def slow(ctx: ToolContext) -> str:
    """Outlast everything."""
    began, release = ctx.services
    began.set()
    await release.wait()
    return "late"


@pytest.mark.parametrize("outage", [None, "begin", "after begin", "tool:1:call_1_0"])
async def test_a_cancel_that_a_call_ignores_is_carried_out_after_the_grace(
    outage: str | None,
) -> None:
    """``outage``: the write at which the store is away."""
    began, release = asyncio.Event(), asyncio.Event()

    def reply(request: ModelRequest) -> ModelReply:
        first = len(request.turn) == 1 and request.text == "go"
        return ModelReply.call("slow") if first else ModelReply.say("next")

    agent = AgentDef(
        name="june", model=ScriptedModel(reply), tools={"slow": slow}, services=(began, release)
    )
    store = Ground(open_store("memory://"))
    await store.open()
    limits = Limits(cancel_grace=0.05)
    async with Runtime({"june": agent}, store, LocalSink(), limits=limits) as runtime:
        session = runtime.session("june", "s")
        await session.start(TurnInput(message="go", turn_id="stuck"))
        async with asyncio.timeout(10):
            await began.wait()
            hold = None if outage is None else store.hold(outage)
            await session.cancel("stuck")
            if hold is not None:
                await hold.wait()
                store.down = True
                hold.go()
                await asyncio.sleep(2 * TICK)
                store.down = False
            assert (await session.result("stuck")).status == "cancelled"
        owed = [result for message in await session.transcript() for result in message.results]
        assert "outcome unknown" in str(owed[0].output)
        release.set()
        async with asyncio.timeout(10):
            assert (await session.turn(TurnInput(message="on"))).text == "next"
    await store.close()


async def test_a_call_that_came_back_just_then_leaves_the_next_turn_alone() -> None:
    began, release, inside, go = (asyncio.Event() for _ in range(4))
    ran: list[int] = []

    @tool
    async def work() -> str:
        """Wait to be told."""
        ran.append(1)
        inside.set()
        await go.wait()
        return "done"

    def reply(request: ModelRequest) -> ModelReply:
        if len(request.turn) > 1:
            return ModelReply.say("next")
        return ModelReply.call("slow" if request.text == "go" else "work")

    agent = AgentDef(
        name="june",
        model=ScriptedModel(reply),
        tools={"slow": slow, "work": work},
        services=(began, release),
    )
    store = Ground(open_store("memory://"))
    await store.open()
    limits = Limits(cancel_grace=0.05)
    async with Runtime({"june": agent}, store, LocalSink(), limits=limits) as runtime:
        session = runtime.session("june", "s")
        await session.start(TurnInput(message="go", turn_id="stuck"))
        async with asyncio.timeout(10):
            await began.wait()
            hold = store.hold("begin")
            await session.cancel("stuck")
            await hold.wait()
            await session.start(TurnInput(message="on", turn_id="on"))
            release.set()
            await inside.wait()
            hold.go()
            await asyncio.sleep(2 * TICK)
            go.set()
            assert (await session.result("on")).text == "next"
        assert len(ran) == 1
    await store.close()
