"""Keys and attempts of calls, calls side by side, endless calls."""

from __future__ import annotations

import asyncio

import pytest

from gateway.engine.errors import FatalToolError
from gateway.engine.events import ActionCompleted
from gateway.engine.limits import Limits
from gateway.engine.model import ModelReply, ModelRequest
from gateway.engine.steps.context import ToolContext
from gateway.engine.tool import tool
from tests.conformance.engine.kit import (
    Bench,
    Hold,
    error_of,
    june,
    kinds,
    logged,
    no_orphans,
    once,
    outputs,
    run,
    say,
    soon,
)
from tests.support.turns import calls


class TestKeys:
    async def test_each_call_has_a_key_of_its_own(self, bench: Bench) -> None:
        keys: list[str] = []

        @tool
        async def send(ctx: ToolContext, to: str) -> None:
            keys.append(ctx.idempotency_key)

        script = [calls(("send", {"to": "a"}), ("send", {"to": "a"})), say("x")]
        await bench.start(june(send, script=script))
        await run(bench.session())
        await run(bench.session())
        assert len(set(keys)) == 4

    async def test_a_key_and_the_attempt_survive_a_crash_in_the_call(self, bench: Bench) -> None:
        bench.need_durable()
        seen: list[tuple[str, int]] = []
        hold = Hold()

        @tool
        async def send(ctx: ToolContext) -> str:
            seen.append((ctx.idempotency_key, ctx.attempt))
            if len(seen) == 1:
                await hold.here()
            return "sent"

        agent = june(send, script=once("send"))
        await bench.start(agent)
        await bench.begin()
        await hold.wait()
        await bench.kill()
        await bench.start(agent)
        assert (await soon(bench.session().result("t1"))).status == "completed"
        assert [attempt for _, attempt in seen] == [1, 2]
        assert len({key for key, _ in seen}) == 1

    async def test_a_money_key_is_the_business_fact_over_turns_and_sessions(
        self, bench: Bench
    ) -> None:
        keys: list[str] = []

        @tool(effect="money", key=("order", "part"))
        async def pay(ctx: ToolContext, order: int, note: str = "", part: str = "all") -> None:
            keys.append(ctx.idempotency_key)

        def script(request: ModelRequest) -> ModelReply:
            if request.messages[-1].role != "user":
                return say("done")
            if request.text == "other":
                return calls(("pay", {"order": 8}))
            asked = [
                ("pay", {"order": 7}),
                ("pay", {"order": 7.0, "note": "again"}),
                ("pay", {"order": 7, "part": "all"}),
            ]
            return calls(*asked)  # type: ignore[arg-type]

        await bench.start(june(pay, script=script))
        await run(bench.session("a"))
        await run(bench.session("a"))
        await run(bench.session("b"))
        assert len(keys) == 9
        assert len(set(keys)) == 1
        await run(bench.session("b"), "other")
        assert len(set(keys)) == 2


class TestSideBySide:
    async def test_marked_neighbours_run_at_once_and_answer_in_call_order(
        self, bench: Bench
    ) -> None:
        both = asyncio.Barrier(2)
        first = asyncio.Event()

        @tool(parallel=True)
        async def side(name: str) -> str:
            await both.wait()
            if name == "a":
                await first.wait()
            else:
                first.set()
            return name

        script = [calls(("side", {"name": "a"}), ("side", {"name": "b"})), say("done")]
        await bench.start(june(side, script=script))
        result = await run(bench.session())
        assert await outputs(bench.session()) == ["a", "b"]
        no_orphans(await bench.session().transcript())
        done = [e for e in await logged(bench, result.turn_id) if isinstance(e, ActionCompleted)]
        assert [event.result for event in done] == ["b", "a"]
        await kinds(bench, result.turn_id)

    async def test_a_step_that_ended_is_not_run_again_after_a_crash(self, bench: Bench) -> None:
        bench.need_durable()
        seen: list[str] = []
        hold = Hold()

        @tool(parallel=True)
        async def side(name: str) -> str:
            seen.append(name)
            if name == "b" and seen.count("b") == 1:
                await hold.here()
            return name

        script = [calls(("side", {"name": "a"}), ("side", {"name": "b"})), say("done")]
        agent = june(side, script=script)
        await bench.start(agent)
        await bench.begin()
        await hold.wait()
        await _done(bench, "t1", "tool:1:call_1_0")
        await bench.kill()
        await bench.start(agent)
        assert (await soon(bench.session().result("t1"))).status == "completed"
        assert (seen.count("a"), seen.count("b")) == (1, 2)
        assert await outputs(bench.session()) == ["a", "b"]

    @pytest.mark.parametrize("gone", ["side", "other"])
    async def test_nor_when_the_batch_is_another_one_since(self, bench: Bench, gone: str) -> None:
        bench.need_durable()
        seen: list[str] = []
        hold = Hold()

        @tool(parallel=True)
        async def side() -> str:
            seen.append("side")
            return "a"

        @tool(parallel=True)
        async def other() -> str:
            if not seen.count("other"):
                seen.append("other")
                await hold.here()
            return "b"

        script = [calls(("side", {}), ("other", {})), say("done")]
        await bench.start(june(side, other, script=script))
        await bench.begin()
        await hold.wait()
        await _done(bench, "t1", "tool:1:call_1_0")
        await bench.kill()
        left = other if gone == "side" else side
        bench.agents.clear()
        await bench.start(june(left, script=script))
        session = bench.session()
        assert (await soon(session.result("t1"))).status == "completed"
        assert seen == ["side", "other"]
        first, second = await outputs(session)
        assert first == "a"
        assert second == "b" if gone == "side" else "is gone" in str(second)
        await kinds(bench, "t1")

    async def test_what_ended_keeps_its_result_when_the_turn_is_cancelled_after_a_crash(
        self, bench: Bench
    ) -> None:
        bench.need_durable()
        hold = Hold()

        @tool(parallel=True)
        async def side(name: str) -> str:
            if name == "b":
                await hold.here()
            return name

        script = [calls(("side", {"name": "a"}), ("side", {"name": "b"})), say("done")]
        agent = june(side, script=script)
        await bench.start(agent)
        session = await bench.begin()
        await hold.wait()
        await _done(bench, "t1", "tool:1:call_1_0")
        await session.cancel("t1")
        await bench.kill()
        await bench.start(agent)
        assert (await soon(bench.session().result("t1"))).status == "cancelled"
        first, second = await outputs(bench.session())
        assert first == "a"
        assert isinstance(second, dict)
        assert "outcome unknown" in str(second["error"])
        told = [e for e in await logged(bench, "t1") if isinstance(e, ActionCompleted)]
        assert [e.call_id for e in told] == ["call_1_0", "call_1_1"]
        await kinds(bench, "t1")

    async def test_a_fatal_one_fails_the_turn_and_its_neighbours_keep_their_results(
        self, bench: Bench
    ) -> None:
        first = asyncio.Event()

        @tool(parallel=True)
        async def side(name: str) -> str:
            if name == "bad":
                first.set()
                raise FatalToolError("no use")
            await first.wait()
            return name

        script = [
            calls(("side", {"name": "a"}), ("side", {"name": "bad"}), ("side", {"name": "c"})),
            say("done"),
        ]
        await bench.start(june(side, script=script))
        result = await run(bench.session())
        assert result.error == {"message": "no use", "phase": "tool", "step": "tool:1:call_1_1"}
        assert await outputs(bench.session()) == ["a", {"error": "no use"}, "c"]
        no_orphans(await bench.session().transcript())
        await kinds(bench, result.turn_id)

    async def test_of_two_fatal_ones_neither_is_an_unknown_outcome(self, bench: Bench) -> None:
        both = asyncio.Barrier(2)

        @tool(parallel=True)
        async def side(name: str) -> str:
            await both.wait()
            raise FatalToolError(f"no use of {name}")

        script = [calls(("side", {"name": "a"}), ("side", {"name": "b"})), say("done")]
        await bench.start(june(side, script=script))
        result = await run(bench.session())
        assert result.status == "failed"
        told = [await error_of(bench.session(), number) for number in range(2)]
        assert [text.rpartition("no ")[2] for text in told] == ["use of a", "use of b"]
        await kinds(bench, result.turn_id)

    async def test_one_that_asks_a_person_is_told_that_it_cannot(self, bench: Bench) -> None:
        @tool(parallel=True)
        async def side(ctx: ToolContext, name: str) -> str:
            if name == "a":
                await ctx.request_input(id="x", prompt="?")
            return name

        script = [calls(("side", {"name": "a"}), ("side", {"name": "b"})), say("done")]
        await bench.start(june(side, script=script))
        assert (await run(bench.session())).status == "completed"
        assert "can't wait for a person" in await error_of(bench.session())
        assert (await outputs(bench.session()))[1] == "b"


class TestEndlessCalls:
    async def test_the_same_call_three_times_running_ends_the_turn(self, bench: Bench) -> None:
        ran: list[int] = []

        @tool
        async def poll(n: int) -> None:
            ran.append(n)

        await bench.start(june(poll, script=calls(("poll", {"n": 1}))))
        result = await run(bench.session())
        assert result.status == "failed"
        assert result.error is not None
        assert "3 times in a row" in str(result.error["message"])
        assert len(ran) == 2
        no_orphans(await bench.session().transcript())

    async def test_calls_that_stand_after_it_do_not_hide_it(self, bench: Bench) -> None:
        ran: list[int] = []

        @tool
        async def poll(n: int) -> None:
            ran.append(n)

        asked = [("poll", {"n": n}) for n in (1, 1, 1, 2)]
        await bench.start(june(poll, script=[calls(*asked), say("x")]))  # type: ignore[arg-type]
        assert (await run(bench.session())).status == "failed"
        assert ran == [1, 1]

    async def test_other_input_or_another_turn_starts_the_count_anew(self, bench: Bench) -> None:
        @tool
        async def poll(n: int) -> None:
            return None

        def script(request: ModelRequest) -> ModelReply:
            given = sum(m.role == "assistant" for m in request.turn)
            return calls(("poll", {"n": given // 2})) if given < 6 else say("done")

        await bench.start(june(poll, script=script))
        for _ in range(3):
            assert (await run(bench.session())).status == "completed"

    async def test_a_turn_takes_no_more_than_max_steps(self, bench: Bench) -> None:
        @tool
        async def poll(n: int) -> None:
            return None

        def script(request: ModelRequest) -> ModelReply:
            return calls(("poll", {"n": len(request.messages)}))

        await bench.start(june(poll, script=script), limits=Limits(max_steps=4))
        result = await run(bench.session())
        assert result.status == "failed"
        assert result.error is not None
        assert "max_steps" in str(result.error["message"])
        assert result.error["phase"] == "model"
        replies = [m for m in await bench.session().transcript() if m.role == "assistant"]
        assert len(replies) == 4


async def _done(bench: Bench, turn_id: str, step: str) -> None:
    from gateway.engine.kinds import SessionRef
    from tests.conformance.engine.kit import until

    async def ended() -> bool:
        turn = await bench.store.turn(SessionRef("june", "s"), turn_id)
        assert turn is not None
        return any(row.step == step and row.done for row in await bench.store.steps(turn.row))

    await until(ended)
