"""Reset: everything ends, the conversation begins anew, the old one stays readable."""

from __future__ import annotations

import asyncio

import pytest

from gateway.engine.errors import NotFoundError
from gateway.engine.kinds import SessionRef
from gateway.engine.model import ModelReply, ModelRequest
from gateway.engine.outcomes import TurnInput
from gateway.engine.tool import tool
from tests.conformance.engine.cast import Slow, ask, ignored
from tests.conformance.engine.kit import (
    Bench,
    Hold,
    june,
    no_orphans,
    once,
    park,
    run,
    say,
    soon,
    texts,
    until,
)
from tests.support.turns import calls


class TestReset:
    async def test_an_idle_session_gets_an_empty_generation_and_the_old_one_is_kept(
        self, bench: Bench
    ) -> None:
        await bench.start(june(script=lambda r: say(f"{len(r.messages)}")))
        session = bench.session("k")
        await run(session, "1")
        done = await session.reset()
        assert (done.previous_session, done.generation) == ("k#g0", 1)
        assert await session.status() == "new"
        assert await texts(session) == []
        assert (await run(session, "2")).text == "1"
        again = await session.reset()
        assert (again.previous_session, again.generation) == ("k#g1", 2)
        old = await session.transcript(generation=0)
        assert [m.text for m in old] == ["1", "1"]
        assert [m.text for m in await session.transcript(generation=1)] == ["2", "1"]
        with pytest.raises(NotFoundError):
            await session.transcript(generation=3)

    async def test_a_session_that_never_was_can_be_reset(self, bench: Bench) -> None:
        await bench.start(june())
        assert (await bench.session().reset()).generation == 1

    async def test_it_ends_a_park_and_the_answer_comes_too_late(self, bench: Bench) -> None:
        await bench.start(june(ask, script=once("ask")))
        session = bench.session()
        asked = await park(session)
        await session.start(TurnInput(message="q", turn_id="q"), when_suspended="queue")
        assert (await session.reset()).generation == 1
        for turn_id in (asked.turn_id, "q"):
            assert (await soon(session.result(turn_id))).error == {"reason": "reset"}
        with pytest.raises(Exception, match="cancelled"):
            await session.resume(asked.turn_id, asked.id, True)
        assert await session.pending() is None
        no_orphans(await session.transcript(generation=0))

    async def test_it_waits_for_the_call_under_way_and_new_turns_wait_for_it(
        self, bench: Bench
    ) -> None:
        hold = Hold()

        @tool
        async def work() -> str:
            await hold.here()
            return "worked"

        def script(request: ModelRequest) -> ModelReply:
            return calls(("work", {})) if request.text == "1" else say(str(len(request.messages)))

        await bench.start(june(work, script=script))
        session = await bench.begin("1")
        await hold.wait()
        async with asyncio.TaskGroup() as group:
            done = group.create_task(soon(session.reset()))
            await until(lambda: bench.stands("resetting"))
            await session.start(TurnInput(message="2", turn_id="t2"))
            hold.go()
        assert done.result().generation == 1
        assert (await soon(session.result("t1"))).error == {"reason": "reset"}
        assert (await soon(session.result("t2"))).text == "1"
        assert [r.output for m in await session.transcript(generation=0) for r in m.results] == [
            "worked"
        ]

    async def test_a_crash_between_request_and_effect_loses_neither(self, bench: Bench) -> None:
        bench.need_durable()
        model = Slow()
        hold = Hold()

        @tool
        async def work() -> None:
            await hold.here()

        agent = june(
            work,
            script=lambda r: calls(("work", {})) if r.text == "1" else say(str(len(r.messages))),
        )
        del model
        await bench.start(agent)
        session = await bench.begin("1")
        await hold.wait()
        waiting = bench.runtime.tasks.start(ignored(session.reset()), "reset")
        await until(lambda: bench.stands("resetting"))
        await session.start(TurnInput(message="2", turn_id="t2"))
        await bench.kill()
        assert waiting.done()
        await bench.start(agent)
        session = bench.session()
        assert (await soon(session.result("t1"))).error == {"reason": "reset"}
        assert (await soon(session.result("t2"))).text == "1"
        row = await bench.store.session(SessionRef("june", "s"))
        assert row is not None
        assert (row.generation, row.reset_at) == (1, None)

    async def test_a_park_of_an_earlier_process_is_reset(self, bench: Bench) -> None:
        bench.need_durable()
        await bench.start(june(ask, script=once("ask")))
        asked = await park(bench.session())
        await bench.kill()
        await bench.start(june(ask, script=say("anew")))
        session = bench.session()
        assert (await soon(session.reset())).generation == 1
        assert (await run(session, turn_id="t2")).text == "anew"
        with pytest.raises(Exception, match="cancelled"):
            await session.resume(asked.turn_id, asked.id, True)

    async def test_an_answered_turn_that_waits_to_go_on_is_reset_too(self, bench: Bench) -> None:
        await bench.start(june(ask, script=once("ask")))
        session = bench.session()
        asked = await park(session)
        gate = bench.store.hold("begin")
        await session.resume(asked.turn_id, asked.id, True)
        await gate.wait()
        async with asyncio.TaskGroup() as group:
            done = group.create_task(soon(session.reset()))
            await until(lambda: bench.stands("resetting"))
            gate.go()
        assert done.result().generation == 1
        assert (await soon(session.result(asked.turn_id))).error == {"reason": "reset"}

    async def test_a_reset_that_the_store_refused_can_be_asked_again(self, bench: Bench) -> None:
        await bench.start(june())
        bench.store.down = True
        with pytest.raises(Exception, match="away"):
            await bench.session().reset()
        bench.store.down = False
        assert (await soon(bench.session().reset())).generation == 1

    async def test_open_views_are_closed(self, bench: Bench) -> None:
        await bench.start(june(ask, script=once("ask")))
        session = bench.session()
        asked = await park(session)
        seen: list[str] = []

        async def watch() -> None:
            async for event in session.observe(asked.turn_id):
                seen.append(event.type)  # noqa: PERF401 - one by one as they come

        async with asyncio.TaskGroup() as group:
            group.create_task(soon(watch()))
            await until(lambda: "input.requested" in seen)
            await session.reset()
        assert seen[-1] == "turn.cancelled"
