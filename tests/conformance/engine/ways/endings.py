"""However a turn ends, whoever watches it is told. ``Attentive`` stands between each path and the store."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from gateway.engine.errors import FatalToolError
from gateway.engine.kinds import SessionRef
from gateway.engine.limits import Limits
from gateway.engine.model import ModelReply
from gateway.engine.records import Writes
from gateway.engine.tool import tool
from tests.conformance.engine.cast import Slow, ask
from tests.conformance.engine.kit import (
    SLACK,
    Bench,
    Hands,
    Hold,
    answer,
    june,
    once,
    park,
    say,
    soon,
)
from tests.conformance.engine.ways.kit import rest, rows, show, shown, wanted


class TestEndings:
    @pytest.mark.parametrize(
        "script", [say("done"), ModelReply((), stop="refusal")], ids=["well", "ill"]
    )
    async def test_a_turn_that_ends(self, bench: Bench, script: ModelReply) -> None:
        await bench.start(june(script=script))
        result = await rest(bench.session(), shown())
        assert result.status == ("completed" if script.text else "failed")
        assert await wanted(bench) == [("reply", 2)]

    async def test_one_that_nobody_watches_marks_nothing(self, bench: Bench) -> None:
        await bench.start(june(ask, script=once("ask")))
        await answer(bench.session(), await park(bench.session(), turn_id="t1"), True)
        assert await wanted(bench) == []
        record = await bench.store.turn(SessionRef("june", "s"), "t1")
        assert record is not None
        assert not record.delivers

    async def test_what_rests_is_woken(self, bench: Bench) -> None:
        model = Slow()
        await bench.start(june(script=model))
        await bench.session().start(shown())
        await model.wait()
        await show(bench)
        assert [row.state for row in await rows(bench)] == ["resting"]
        model.free.set()
        await soon(bench.session().result("t1"))
        assert [row.state for row in await rows(bench)] == ["due"]

    @pytest.mark.parametrize("remote", [True, False])
    async def test_a_tool_ends_it(self, bench: Bench, remote: bool) -> None:
        @tool
        def stop() -> None:
            raise FatalToolError("no use")

        @tool
        async def stop_later() -> None:
            raise FatalToolError("no use")

        agent = june(stop, stop_later, script=once("stop_later" if remote else "stop"))
        await bench.start(agent)
        assert (await rest(bench.session(), shown())).status == "failed"
        assert await wanted(bench) == [("reply", 2)]

    async def test_its_time_runs_out(self, bench: Bench) -> None:
        hands, model = Hands(), Slow()
        await bench.start(june(script=model), clock=hands.clock)
        await bench.session().start(shown())
        await model.wait()
        hands.forward(301)
        assert (await soon(bench.session().result("t1"))).status == "timed_out"
        assert await wanted(bench) == [("reply", 2)]

    async def test_it_killed_the_process_too_often(self, bench: Bench) -> None:
        reached = asyncio.Queue[int]()

        @tool
        async def deadly() -> None:
            reached.put_nowait(1)
            await asyncio.Event().wait()

        limits = Limits(max_attempts=2)
        await bench.start(june(deadly, script=once("deadly")), limits=limits)
        await bench.session().start(shown())
        for _ in range(2):
            await soon(reached.get())
            await bench.kill()
            assert await wanted(bench) == [("reply", 1)]
            await bench.start(limits=limits)
        assert (await soon(bench.session().result("t1"))).status == "failed"
        assert await wanted(bench) == [("reply", 2)]

    async def test_a_deploy_tells_nothing_and_the_end_after_it_does(self, bench: Bench) -> None:
        model = Slow()
        await bench.start(june(script=model))
        await bench.session().start(shown())
        await model.wait()
        await bench.drain(grace=0.05)
        assert await wanted(bench) == [("reply", 1)]
        model.free.set()
        await bench.start()
        assert (await soon(bench.session().result("t1"))).status == "completed"
        assert await wanted(bench) == [("reply", 2)]

    async def test_what_leaves_out_the_mark_is_found_out(self, bench: Bench) -> None:
        """The suite's own guard: without it the tests here would prove less than they say."""
        model = Slow()
        await bench.start(june(script=model))
        await bench.session().start(shown())
        await model.wait()
        record, fence = bench.attempt.record, bench.attempt.fence
        with pytest.raises(AssertionError, match="completed"):
            await bench.store.commit(fence, Writes(turns=(replace(record, state="completed"),)))
        assert (await bench.session().snapshot("t1")).state == "running"
        bench.silent.clear()
        model.free.set()


class TestEndingsByOthers:
    @pytest.mark.parametrize("reason", ["requested", "replaced"])
    async def test_one_that_runs_is_cancelled(self, bench: Bench, reason: Any) -> None:
        model = Slow()
        await bench.start(june(script=model))
        session = bench.session()
        await session.start(shown())
        await model.wait()
        await session.cancel("t1", reason)
        assert (await soon(session.result("t1"))).error == {"reason": reason}
        assert await wanted(bench) == [("reply", 2)]

    @pytest.mark.parametrize("reason", ["requested", "replaced"])
    async def test_one_that_waits_is_cancelled(self, bench: Bench, reason: Any) -> None:
        model = Slow()
        await bench.start(june(script=model))
        session = await bench.begin("1", "t0")
        await model.wait()
        await session.start(shown())
        await session.cancel("t1", reason)
        assert (await soon(session.result("t1"))).error == {"reason": reason}
        assert await wanted(bench) == [("reply", 2)]
        record = await bench.store.turn(session.ref, "t1")
        assert record is not None
        assert record.delivers
        model.free.set()

    @pytest.mark.parametrize("reason", ["requested", "replaced"])
    async def test_one_that_is_parked_is_cancelled(self, bench: Bench, reason: Any) -> None:
        await bench.start(june(ask, script=once("ask")))
        session = bench.session()
        await rest(session, shown())
        await session.cancel("t1", reason)
        assert (await soon(session.result("t1"))).error == {"reason": reason}
        assert await wanted(bench) == [("reply", 3), ("card", 3)]

    async def test_an_answered_one_that_hasn_t_gone_on_is_cancelled(self, bench: Bench) -> None:
        await bench.start(june(ask, script=once("ask")))
        session = bench.session()
        asked = (await rest(session, shown())).request
        assert asked is not None
        gate = bench.store.hold("begin")
        await session.resume("t1", asked.id, True, by=SLACK.id)
        await gate.wait()
        await session.cancel("t1")
        gate.go()
        assert (await soon(session.result("t1"))).status == "cancelled"
        assert await wanted(bench) == [("reply", 4), ("card", 4)]

    async def test_a_call_ignores_the_cancel(self, bench: Bench) -> None:
        hold = Hold()

        @tool
        async def stuck() -> None:
            await hold.here()

        await bench.start(june(stuck, script=once("stuck")), limits=Limits(cancel_grace=0.05))
        session = bench.session()
        await session.start(shown())
        await hold.wait()
        await session.cancel("t1")
        assert (await soon(session.result("t1"))).status == "cancelled"
        assert await wanted(bench) == [("reply", 2)]
        hold.go()

    async def test_a_reset_ends_what_is_parked_and_what_waits(self, bench: Bench) -> None:
        await bench.start(june(ask, script=once("ask")))
        session = bench.session()
        await rest(session, shown())
        await session.start(shown("t2"), when_suspended="queue")
        await session.reset()
        assert (await soon(session.result("t2"))).error == {"reason": "reset"}
        assert await wanted(bench) == [("reply", 3), ("card", 3)]
        assert await wanted(bench, "t2") == [("reply", 2)]

    async def test_a_reset_ends_what_runs(self, bench: Bench) -> None:
        model = Slow()
        await bench.start(june(script=model))
        session = bench.session()
        await session.start(shown())
        await model.wait()
        await session.reset()
        assert (await soon(session.result("t1"))).error == {"reason": "reset"}
        assert await wanted(bench) == [("reply", 2)]

    @pytest.mark.parametrize("newer", [True, "speaker"])
    async def test_a_newer_message_ends_what_runs_and_what_waits(
        self, bench: Bench, newer: Any
    ) -> None:
        model = Slow()
        await bench.start(june(script=model))
        session = bench.session()
        for turn_id in ("t1", "t2"):
            await session.start(shown(turn_id))
        await model.wait()
        await session.start(shown("t3"), replace=newer)
        model.free.set()
        for turn_id in ("t1", "t2"):
            assert (await soon(session.result(turn_id))).error == {"reason": "replaced"}
            assert await wanted(bench, turn_id) == [("reply", 2)]
        assert (await soon(session.result("t3"))).status == "completed"
        assert await wanted(bench, "t3") == [("reply", 2)]

    async def test_a_newer_message_leaves_a_park_and_sweeps_behind_it(self, bench: Bench) -> None:
        await bench.start(june(ask, script=once("ask")))
        session = bench.session()
        await rest(session, shown())
        await session.start(shown("t2"), when_suspended="queue")
        await session.start(shown("t3"), replace=True, when_suspended="queue")
        assert await wanted(bench) == [("reply", 2), ("card", 2)]
        assert await wanted(bench, "t2") == [("reply", 2)]
        assert await wanted(bench, "t3") == [("reply", 1)]
