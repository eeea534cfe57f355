"""Model steps: what is worth retrying, what a reply must be, and the deadlines of a turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

import pytest
from typing_extensions import override

from gateway.engine import events as ev
from gateway.engine.errors import ConfigError, ModelError, ModelUnavailableError
from gateway.engine.events import TurnTimedOut
from gateway.engine.limits import Limits
from gateway.engine.messages import Reasoning, Text, ToolCall
from gateway.engine.model import ModelDelta, ModelReply, ModelRequest, TextDelta
from gateway.engine.steps.context import ToolContext
from gateway.engine.tool import tool
from gateway.models.scripted import ScriptedModel
from tests.conformance.engine.cast import Said
from tests.conformance.engine.kit import (
    Bench,
    Hands,
    Hold,
    answer,
    error_of,
    june,
    kinds,
    logged,
    no_orphans,
    once,
    outputs,
    park,
    run,
    say,
    soon,
    texts,
    until,
)
from tests.support.turns import calls


class Flaky(ScriptedModel):
    """Shows half a reply and breaks off, the first ``times``."""

    def __init__(self, times: int, retry_after: float = 0.0) -> None:
        super().__init__(lambda _: say("whole"))
        self.times = times
        self.after = retry_after
        self.asked = 0

    @override
    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelDelta | ModelReply]:
        self.asked += 1
        if self.asked <= self.times:
            yield TextDelta("hal")
            raise ModelUnavailableError("connection lost", retry_after=self.after)
        async for item in super().stream(request):
            yield item


class TestModelRetries:
    async def test_a_model_that_is_away_for_a_moment_is_asked_again(self, bench: Bench) -> None:
        model = Flaky(2)
        await bench.start(june(model=model))
        session = bench.session()
        gate = await bench.start_and_hold(session)

        async def watch() -> list[ev.TurnEvent]:
            return [event async for event in session.observe("t1")]

        async with asyncio.TaskGroup() as group:
            seen = group.create_task(soon(watch()))
            await until(lambda: bench.runtime.sink.watched(session.ref))
            gate.go()
        assert (await soon(session.result("t1"))).text == "whole"
        types = [e.type for e in seen.result() if not e.type.startswith("turn.")]
        assert types[:4] == ["message.delta", "model.retrying"] * 2
        retries = [e for e in seen.result() if isinstance(e, ev.ModelRetrying)]
        assert [(e.attempt, e.delay, e.error) for e in retries] == [
            (1, 0.0, "connection lost"),
            (2, 0.0, "connection lost"),
        ]
        assert await texts(session) == [("user", "go"), ("assistant", "whole")]
        assert await kinds(bench, "t1") == [
            *("turn.started", "message.completed", "usage", "turn.completed")
        ]

    async def test_it_is_given_up_after_a_while_with_phase_and_step(self, bench: Bench) -> None:
        model = Flaky(99, retry_after=0.02)
        await bench.start(june(model=model), limits=Limits(model_retry_for=0.1))
        result = await run(bench.session())
        assert result.status == "failed"
        assert result.error is not None
        assert "connection lost" in str(result.error["message"])
        assert (result.error["phase"], result.error["step"]) == ("model", "model:1")
        assert 2 <= model.asked <= 7

    async def test_a_wait_longer_than_what_is_left_is_not_waited_for(self, bench: Bench) -> None:
        model = Flaky(99, retry_after=3600)
        await bench.start(june(model=model))
        assert (await run(bench.session())).status == "failed"
        assert model.asked == 1

    async def test_a_failure_for_good_is_not_tried_again(self, bench: Bench) -> None:
        asked: list[int] = []

        def refuse(_: ModelRequest) -> ModelReply:
            asked.append(1)
            raise ModelError("bad key")

        await bench.start(june(script=refuse))
        result = await run(bench.session())
        assert result.error == {"message": "bad key", "phase": "model", "step": "model:1"}
        assert asked == [1]

    async def test_a_stream_without_a_reply_is_tried_again(self, bench: Bench) -> None:
        class Cut(ScriptedModel):
            asked = 0

            @override
            async def stream(
                self, request: ModelRequest
            ) -> AsyncGenerator[ModelDelta | ModelReply]:
                self.asked += 1
                if self.asked == 1:
                    yield TextDelta("hal")
                    return
                yield say("whole")

        await bench.start(june(model=Cut(lambda _: say(""))))
        assert (await run(bench.session())).text == "whole"

    async def test_cancel_ends_a_wait_between_tries(self, bench: Bench) -> None:
        model = Flaky(99, retry_after=60)
        await bench.start(june(model=model))
        session = await bench.begin()
        await until(lambda: model.asked == 1)
        await session.cancel("t1")
        assert (await soon(session.result("t1"))).status == "cancelled"
        assert model.asked == 1


class TestReplies:
    @pytest.mark.parametrize("blocks", [(), (Text(""),), (Text(" \n"),), (Reasoning("hmm", {}),)])
    async def test_silence_is_asked_again_once_and_never_committed(
        self, bench: Bench, blocks: tuple[Text, ...]
    ) -> None:
        left = [ModelReply(blocks), say("here I am")]
        await bench.start(june(script=lambda _: left.pop(0)))
        assert (await run(bench.session())).text == "here I am"
        assert len(await bench.session().transcript()) == 2

    async def test_silence_twice_fails_the_turn(self, bench: Bench) -> None:
        await bench.start(june(script=lambda _: ModelReply(())))
        result = await run(bench.session())
        assert result.status == "failed"
        assert result.error is not None
        assert result.error["phase"] == "model"
        assert await texts(bench.session()) == [("user", "go")]

    @pytest.mark.parametrize(
        "stop", ["max_tokens", "refusal", "model_context_window_exceeded", "content_filter", "new"]
    )
    async def test_an_abnormal_stop_with_nothing_said_fails_before_it_commits(
        self, bench: Bench, stop: str
    ) -> None:
        await bench.start(june(script=lambda _: ModelReply((), stop=stop)))
        result = await run(bench.session())
        assert result.status == "failed"
        assert result.error is not None
        assert stop in str(result.error["message"])
        assert await texts(bench.session()) == [("user", "go")]

    async def test_an_abnormal_stop_with_content_commits(self, bench: Bench) -> None:
        await bench.start(june(script=lambda _: ModelReply((Text("So far"),), stop="max_tokens")))
        assert (await run(bench.session())).text == "So far"
        assert (await bench.session().transcript())[-1].stop == "max_tokens"

    async def test_a_paused_reply_is_continued(self, bench: Bench) -> None:
        script = [ModelReply((Text("wait"),), stop="pause_turn"), say("done")]
        await bench.start(june(script=script))
        assert (await run(bench.session())).text == "done"

    async def test_call_ids_that_repeat_are_told_apart(self, bench: Bench) -> None:
        @tool
        async def work(n: int) -> int:
            return n

        twice = ModelReply((ToolCall("c", "work", {"n": 1}), ToolCall("c", "work", {"n": 2})))
        await bench.start(june(work, script=[twice, say("done")]))
        await run(bench.session())
        assert await outputs(bench.session()) == [1, 2]
        no_orphans(await bench.session().transcript())

    @pytest.mark.parametrize("kind", ["NaN", "object", "long", "deep"])
    async def test_a_call_of_what_is_no_json_is_not_run_and_the_model_is_told(
        self, bench: Bench, kind: str
    ) -> None:
        given = {"NaN": float("nan"), "object": object(), "long": 10**5000, "deep": 1}[kind]
        for _ in range(940 if kind == "deep" else 0):
            given = [given]
        ran: list[int] = []

        @tool
        async def work(n: float) -> None:
            ran.append(1)

        call = ToolCall("c", "work", {"n": given})  # type: ignore[dict-item]
        await bench.start(june(work, model=Said(ModelReply((call,)), say("done"))))
        assert (await run(bench.session())).text == "done"
        assert await error_of(bench.session())
        assert not ran
        no_orphans(await bench.session().transcript())

    async def test_a_call_that_an_abnormal_stop_may_have_cut_is_not_run(self, bench: Bench) -> None:
        ran: list[int] = []

        @tool
        async def work(n: int) -> None:
            ran.append(n)

        cut = ModelReply((ToolCall("c", "work", {"n": 1}),), stop="max_tokens")
        await bench.start(june(work, script=[cut, say("done")]))
        assert (await run(bench.session())).text == "done"
        assert "cut off" in await error_of(bench.session())
        assert not ran

    async def test_a_reply_that_can_t_be_kept_fails_the_turn_with_its_step(
        self, bench: Bench
    ) -> None:
        odd = ModelReply((Text("hi", {"score": float("nan")}),))
        await bench.start(june(model=Said(odd)))
        result = await run(bench.session())
        assert result.error is not None
        assert "isn't JSON" in str(result.error["message"])
        assert (result.error["phase"], result.error["step"]) == ("model", "model:1")

    async def test_a_call_cancelled_from_within_is_unavailable(self, bench: Bench) -> None:
        model = Said(asyncio.CancelledError(), asyncio.CancelledError(), say("too late"))
        await bench.start(june(model=model), limits=Limits(model_retry_for=0.01))
        result = await run(bench.session())
        assert result.error is not None
        assert "cancelled from within" in str(result.error["message"])

    async def test_a_broken_model_fails_the_turn_in_words(self, bench: Bench) -> None:
        await bench.start(june(script=lambda _: 1 / 0))
        result = await run(bench.session())
        assert result.error is not None
        assert "division by zero" in str(result.error["message"])


def forever() -> tuple[Hold, Callable[[ModelRequest], object]]:
    hold = Hold()

    async def reply(_: ModelRequest) -> ModelReply:
        await hold.here()
        return say("late")

    return hold, reply


class TestDeadlines:
    async def test_silence_past_the_idle_window_times_the_turn_out(self, bench: Bench) -> None:
        hands = Hands()
        hold, reply = forever()
        await bench.start(june(script=reply), clock=hands.clock)
        session = await bench.begin()
        await hold.wait()
        hands.forward(301)
        result = await soon(session.result("t1"))
        assert (result.status, result.error) == ("timed_out", {"deadline": "idle"})
        last = (await logged(bench, "t1"))[-1]
        assert isinstance(last, TurnTimedOut)
        assert last.deadline == "idle"

    async def test_a_running_tool_counts_as_alive_until_its_own_timeout(self, bench: Bench) -> None:
        hands = Hands()
        hold = Hold()

        @tool(timeout=900)
        async def work() -> str:
            await hold.here()
            return "worked"

        await bench.start(june(work, script=once("work")), clock=hands.clock)
        session = await bench.begin()
        await hold.wait()
        hands.forward(800)
        attempt = bench.attempt
        assert attempt.overdue() is None
        hands.forward(401)
        assert attempt.overdue() == "idle"
        hands.forward(-401)
        hold.go()
        assert (await soon(session.result("t1"))).status == "completed"

    async def test_parallel_tools_are_alive_as_long_as_the_longest(self, bench: Bench) -> None:
        hands = Hands()
        hold = Hold()

        @tool(timeout=900, parallel=True)
        async def long() -> str:
            await hold.here()
            return "long"

        @tool(timeout=1, parallel=True)
        async def short() -> str:
            return "short"

        script = [calls(("long", {}), ("short", {})), say("done")]
        await bench.start(june(long, short, script=script), clock=hands.clock)
        session = await bench.begin()
        await hold.wait()
        await until(lambda: "tool:1:call_1_1" in bench.store.writes[-1])
        hands.forward(800)
        attempt = bench.attempt
        assert attempt.overdue() is None
        hold.go()
        assert (await soon(session.result("t1"))).status == "completed"

    async def test_the_ceiling_ends_a_turn_and_its_calls_get_results(self, bench: Bench) -> None:
        hands = Hands()
        hold = Hold()

        @tool(timeout=9000)
        async def work() -> str:
            await hold.here()
            return "worked"

        await bench.start(
            june(work, script=[calls(("work", {}), ("work", {})), say("x")]), clock=hands.clock
        )
        session = await bench.begin()
        await hold.wait()
        hands.forward(3601)
        attempt = bench.attempt
        await until(lambda: attempt._stop is not None)
        hold.go()
        result = await soon(session.result("t1"))
        assert result.error == {"deadline": "ceiling"}
        assert await outputs(session) == [
            "worked",
            {"error": "not run: the turn ran out of time"},
        ]

    async def test_parked_and_queued_time_does_not_count(self, bench: Bench) -> None:
        hands = Hands()

        @tool
        async def ask(ctx: ToolContext) -> bool:
            hands.forward(1500)
            return bool(await ctx.request_input(id="ok", prompt="?"))

        await bench.start(june(ask, script=once("ask")), clock=hands.clock)
        asked = await park(bench.session())
        hands.forward(86_400)
        assert (await answer(bench.session(), asked, True)).status == "completed"

    async def test_running_time_adds_up_over_a_park(self, bench: Bench) -> None:
        hands = Hands()
        hold = Hold()

        @tool(timeout=9000)
        async def ask(ctx: ToolContext) -> bool:
            hands.forward(2000)
            ok = bool(await ctx.request_input(id="ok", prompt="?"))
            await hold.here()
            return ok

        await bench.start(june(ask, script=once("ask")), clock=hands.clock)
        session = bench.session()
        asked = await park(session)
        await session.resume(asked.turn_id, asked.id, True)
        await hold.wait()
        attempt = bench.attempt
        assert attempt.overdue() == "ceiling"
        await until(lambda: attempt._stop is not None)
        hold.go()
        assert (await soon(session.result(asked.turn_id))).status == "timed_out"

    async def test_settings_that_contradict_each_other_refuse_to_start(self, bench: Bench) -> None:
        del bench
        for bad in (
            {"turn_idle": 4000.0},
            {"credential_life": 3600.0},
            {"turn_idle": 0.0},
            {"max_steps": 0},
            {"running_turns": 0},
        ):
            with pytest.raises(ConfigError):
                Limits(**bad)
