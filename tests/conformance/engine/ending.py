"""Cancel and replace: requests that the turn obeys at its next boundary."""

from __future__ import annotations

import asyncio

import pytest

from gateway.engine.errors import SessionSuspendedError
from gateway.engine.events import TurnCancelled
from gateway.engine.model import ModelReply, ModelRequest
from gateway.engine.outcomes import TurnInput
from gateway.engine.tool import tool
from tests.conformance.engine.cast import Slow, ask, ignored
from tests.conformance.engine.kit import (
    OTHER,
    SLACK,
    Bench,
    Hold,
    answer,
    audits,
    june,
    kinds,
    logged,
    no_orphans,
    outputs,
    park,
    run,
    say,
    soon,
    texts,
)
from tests.support.turns import calls


class TestCancel:
    async def test_a_turn_in_a_model_call_ends_at_once(self, bench: Bench) -> None:
        model = Slow()
        await bench.start(june(script=model))
        session = await bench.begin()
        await model.wait()
        await session.cancel("t1")
        result = await soon(session.result("t1"))
        assert (result.status, result.error) == ("cancelled", {"reason": "requested"})
        last = (await logged(bench, "t1"))[-1]
        assert isinstance(last, TurnCancelled)
        assert last.reason == "requested"
        assert await texts(session) == [("user", "go")]

    async def test_what_was_cancelled_between_being_taken_and_being_set_up_ends_too(
        self, bench: Bench
    ) -> None:
        model = Slow()
        await bench.start(june(script=model))
        session = bench.session()
        gate = await bench.start_and_hold(session)
        await session.cancel("t1")
        gate.go()
        assert (await soon(session.result("t1"))).status == "cancelled"
        assert model.asked.empty()

    async def test_a_turn_runs_though_whoever_started_it_left_meanwhile(self, bench: Bench) -> None:
        await bench.start(june(script=lambda r: say(f"re: {r.text}")))
        session = bench.session()
        gate = bench.store.hold("after enter")
        async with asyncio.TaskGroup() as group:
            leaving = group.create_task(session.start(TurnInput(message="1", turn_id="t1")))
            await gate.wait()
            leaving.cancel()
        gate.go()
        assert (await soon(session.result("t1"))).text == "re: 1"
        await session.start(TurnInput(message="2", turn_id="t2"))
        assert (await soon(session.result("t2"))).text == "re: 2"

    async def test_many_starts_at_once_run_in_order_each_once(self, bench: Bench) -> None:
        asked: list[str] = []

        def answer(request: ModelRequest) -> ModelReply:
            asked.append(request.text)
            return say("ok")

        await bench.start(june(script=answer))
        session = bench.session()
        for burst in range(3):
            names = [f"{burst}-{n}" for n in range(8)]
            async with asyncio.TaskGroup() as group:
                for name in names:
                    group.create_task(session.start(TurnInput(message=name, turn_id=name)))
            for name in names:
                assert (await soon(session.result(name))).status == "completed"
        assert sorted(asked) == sorted(set(asked))
        assert len(asked) == 24

    async def test_a_call_under_way_finishes_and_the_rest_is_cancelled(self, bench: Bench) -> None:
        hold = Hold()
        ran: list[str] = []

        @tool
        async def work(name: str) -> str:
            ran.append(name)
            await hold.here()
            return name

        script = [
            calls(("work", {"name": "a"}), ("work", {"name": "b"}), ("work", {"name": "c"})),
            say("done"),
        ]
        await bench.start(june(work, script=script))
        session = await bench.begin()
        await hold.wait()
        await session.cancel("t1")
        hold.go()
        assert (await soon(session.result("t1"))).status == "cancelled"
        assert await outputs(session) == ["a", {"cancelled": True}, {"cancelled": True}]
        assert ran == ["a"]
        no_orphans(await session.transcript())
        assert (await kinds(bench, "t1")).count("action.completed") == 3

    async def test_the_next_turn_runs_on_a_whole_transcript(self, bench: Bench) -> None:
        hold = Hold()

        @tool
        async def work() -> None:
            await hold.here()

        def script(request: ModelRequest) -> ModelReply:
            no_orphans(request.messages)
            return calls(("work", {}), ("work", {})) if request.text == "1" else say("fine")

        await bench.start(june(work, script=script))
        session = await bench.begin("1")
        await hold.wait()
        await session.cancel("t1")
        hold.go()
        assert (await run(session, "2")).text == "fine"

    async def test_a_queued_turn_ends_where_it_stands(self, bench: Bench) -> None:
        model = Slow()
        await bench.start(june(script=model))
        session = await bench.begin("1")
        await session.start(TurnInput(message="2", turn_id="t2"))
        await model.wait()
        await session.cancel("t2")
        assert (await soon(session.result("t2"))).status == "cancelled"
        model.free.set()
        assert (await soon(session.result("t1"))).text == "re: 1"
        assert await kinds(bench, "t2") == ["turn.cancelled"]

    async def test_a_parked_turn_ends_where_it_stands(self, bench: Bench) -> None:
        await bench.start(june(ask, script=[calls(("ask", {}), ("ask", {})), say("x")]))
        session = bench.session()
        asked = await park(session)
        await session.cancel(asked.turn_id)
        assert (await soon(session.result(asked.turn_id))).status == "cancelled"
        assert await outputs(session) == [{"cancelled": True}, {"cancelled": True}]
        assert await session.status() == "idle"
        assert (await kinds(bench, asked.turn_id))[-2:] == ["input.answered", "turn.cancelled"]

    async def test_an_ended_turn_stays_as_it_is(self, bench: Bench) -> None:
        await bench.start(june())
        session = bench.session()
        result = await run(session)
        await session.cancel(result.turn_id)
        assert await soon(session.result(result.turn_id)) == result

    async def test_the_request_survives_a_crash(self, bench: Bench) -> None:
        bench.need_durable()
        hold = Hold()
        sent: list[int] = []

        @tool
        async def send() -> None:
            sent.append(1)
            await hold.here()

        agent = june(send, script=[calls(("send", {}), ("send", {})), say("x")])
        await bench.start(agent)
        session = await bench.begin()
        await hold.wait()
        await session.cancel("t1")
        await bench.kill()
        await bench.start(agent)
        session = bench.session()
        assert (await soon(session.result("t1"))).status == "cancelled"
        assert sent == [1]
        unknown, unrun = await outputs(session)
        assert isinstance(unknown, dict)
        assert "outcome unknown" in str(unknown["error"])
        assert len(str(unknown["idempotency_key"])) == 32
        assert unrun == {"cancelled": True}
        assert await audits(bench) == [
            ("outcome_unknown", "t1", "tool:1:call_1_0", "unknown"),
        ]

    async def test_cancel_is_obeyed_between_deltas(self, bench: Bench) -> None:
        from gateway.models.scripted import ScriptedModel

        class Chatty(ScriptedModel):
            pass

        model = Chatty(lambda _: say("a b c d e f g h"), chunks=8, latency=5.0)
        await bench.start(june(model=model))
        session = await bench.begin()
        events = session.observe("t1")
        async for event in events:
            if event.type == "message.delta":
                await session.cancel("t1")
            if event.terminal:
                break
        assert (await soon(session.result("t1"))).status == "cancelled"
        assert await texts(session) == [("user", "go")]


class TestReplace:
    async def test_it_ends_what_runs_and_what_waits(self, bench: Bench) -> None:
        model = Slow()
        await bench.start(june(script=model))
        session = bench.session()
        for n in ("1", "2", "3"):
            await session.start(TurnInput(message=n, turn_id=f"t{n}"))
        await model.wait()
        await session.start(TurnInput(message="4", turn_id="t4"), replace=True)
        model.free.set()
        for n in ("1", "2", "3"):
            result = await soon(session.result(f"t{n}"))
            assert (result.status, result.error) == ("cancelled", {"reason": "replaced"})
        assert (await soon(session.result("t4"))).text == "re: 4"

    async def test_a_turn_that_has_finished_stays_finished(self, bench: Bench) -> None:
        await bench.start(june(script=lambda r: say(f"re: {r.text}")))
        session = bench.session()
        first = await run(session, "1")
        await session.start(TurnInput(message="2", turn_id="t2"), replace=True)
        await soon(session.result("t2"))
        assert await soon(session.result(first.turn_id)) == first

    async def test_it_never_touches_a_park(self, bench: Bench) -> None:
        await bench.start(
            june(
                ask,
                script=lambda r: (
                    say(f"re: {r.text}")
                    if r.text != "go" or r.messages[-1].role == "tool"
                    else calls(("ask", {}))
                ),
            )
        )
        session = bench.session()
        asked = await park(session)
        with pytest.raises(SessionSuspendedError):
            await session.start(TurnInput(message="2"), replace=True)
        await session.start(
            TurnInput(message="3", turn_id="t3"), replace=True, when_suspended="queue"
        )
        assert await session.pending() == asked
        await session.start(
            TurnInput(message="4", turn_id="t4"), replace=True, when_suspended="queue"
        )
        assert (await soon(session.result("t3"))).status == "cancelled"
        assert (await answer(session, asked, True)).status == "completed"
        assert (await soon(session.result("t4"))).text == "re: 4"

    async def test_replace_speaker_spares_the_others(self, bench: Bench) -> None:
        model = Slow()
        await bench.start(june(script=model))
        session = bench.session()
        given = [("1", SLACK, "slack"), ("2", OTHER, "slack"), ("3", SLACK, "web")]
        given.append(("4", SLACK, "slack"))
        for n, who, source in given:
            await session.start(TurnInput(message=n, turn_id=f"t{n}", speaker=who, source=source))
        await model.wait()
        await session.start(
            TurnInput(message="5", turn_id="t5", speaker=SLACK, source="slack"), replace="speaker"
        )
        model.free.set()
        found = [(await soon(session.result(f"t{n}"))).status for n in "12345"]
        assert found == ["cancelled", "completed", "completed", "cancelled", "completed"]

    async def test_it_is_one_transaction_with_the_new_turn(self, bench: Bench) -> None:
        bench.need_durable()
        model = Slow()
        await bench.start(june(script=model))
        await bench.begin("1")
        await model.wait()
        gate = bench.store.hold("after enter")
        work = bench.runtime.tasks.start(
            ignored(bench.session().start(TurnInput(message="2", turn_id="t2"), replace=True)),
            "start",
        )
        await gate.wait()
        await bench.kill()
        assert work.done()
        await bench.start(june(script=lambda r: say(f"re: {r.text}")))
        assert (await soon(bench.session().result("t1"))).error == {"reason": "replaced"}
        assert (await soon(bench.session().result("t2"))).text == "re: 2"
