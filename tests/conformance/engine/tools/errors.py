"""What becomes of a tool that throws, leaves, or returns what it should not."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable
from typing import Any, NoReturn, cast

import pytest
from typing_extensions import override

from gateway.engine.errors import FatalToolError
from gateway.engine.events import ActionCompleted, TurnFailed
from gateway.engine.limits import Limits
from gateway.engine.messages import ToolCall
from gateway.engine.model import ModelReply
from gateway.engine.outcomes import TurnInput
from gateway.engine.steps.context import ToolContext
from gateway.engine.tool import tool
from tests.conformance.engine.cast import ask_for, write
from tests.conformance.engine.kit import (
    Bench,
    answer,
    error_of,
    june,
    logged,
    no_orphans,
    once,
    outputs,
    park,
    run,
    say,
    soon,
)
from tests.support.turns import calls


class QuotaError(Exception):
    pass


class Unreadable(Exception):
    @override
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Leaving(Exception):
    @override
    def __str__(self) -> str:
        raise SystemExit(1)


class Trap(dict[str, object]):
    """Something that can only be read by running the author's code."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(a=1)
        self._error = error

    @override
    def items(self) -> NoReturn:
        raise self._error


class TestToolErrors:
    async def test_an_awaitable_from_a_def_is_closed_and_an_error(self, bench: Bench) -> None:
        made: list[Any] = []

        async def work() -> str:
            return "never"

        @tool
        def oops() -> Awaitable[str]:
            made.append(work())
            return cast("Awaitable[str]", made[0])

        await bench.start(june(oops, script=once("oops")))
        assert (await run(bench.session())).status == "completed"
        assert "declare it with `async def`" in await error_of(bench.session())
        assert made[0].cr_frame is None, "the coroutine must be closed"

    @pytest.mark.parametrize("remote", [False, True])
    async def test_sys_exit_in_a_tool_is_an_error_result(self, bench: Bench, remote: bool) -> None:
        @tool
        def leave() -> None:
            sys.exit(3)

        @tool
        async def leave_later() -> None:
            sys.exit(3)

        name = "leave_later" if remote else "leave"
        await bench.start(june(leave, leave_later, script=once(name)))
        assert (await run(bench.session())).text == "done"
        assert await error_of(bench.session()) == "SystemExit: 3"

    @pytest.mark.parametrize("remote", [False, True])
    async def test_a_base_exception_in_a_tool_is_an_error_result(
        self, bench: Bench, remote: bool
    ) -> None:
        class Odd(BaseException):
            pass

        @tool
        def odd() -> None:
            raise Odd("strange")

        @tool
        async def odd_later() -> None:
            raise Odd("strange")

        name = "odd_later" if remote else "odd"
        await bench.start(june(odd, odd_later, script=once(name)))
        assert (await run(bench.session())).text == "done"
        assert await error_of(bench.session()) == "Odd: strange"

    @pytest.mark.parametrize(
        ("error", "told"),
        [
            (Exception("plain"), "plain"),
            (QuotaError("quota exceeded"), "QuotaError: quota exceeded"),
            (KeyError("id"), "KeyError: 'id'"),
            (QuotaError(), "QuotaError"),
            (Exception(), "Exception"),
            (QuotaError("x" * 5000), "QuotaError: " + "x" * (2000 - len("QuotaError: "))),
            (QuotaError("half \ud800"), "QuotaError: half ?"),
            (Unreadable(), "Unreadable: its message can't be read"),
            (Leaving(), "Leaving: its message can't be read"),
        ],
        ids=[
            "plain",
            "class",
            "key",
            "empty class",
            "empty",
            "long",
            "surrogate",
            "unreadable",
            "leaving",
        ],
    )
    @pytest.mark.parametrize("remote", [False, True])
    async def test_an_error_result_is_class_and_message_never_a_stack(
        self, bench: Bench, remote: bool, error: Exception, told: str
    ) -> None:
        @tool
        def fail() -> None:
            raise error

        @tool
        async def fail_later() -> None:
            raise error

        name = "fail_later" if remote else "fail"
        await bench.start(june(fail, fail_later, script=once(name)))
        result = await run(bench.session())
        assert (result.status, result.text) == ("completed", "done")
        assert await outputs(bench.session()) == [{"error": told}]
        [done] = [e for e in await logged(bench, result.turn_id) if isinstance(e, ActionCompleted)]
        assert done.error == told

    @pytest.mark.parametrize("remote", [False, True])
    async def test_a_fatal_error_fails_the_turn_and_answers_every_call(
        self, bench: Bench, remote: bool
    ) -> None:
        @tool
        def stop() -> None:
            raise FatalToolError("no use")

        @tool
        async def stop_later() -> None:
            raise FatalToolError("no use")

        name = "stop_later" if remote else "stop"
        script = [calls(("write", {"text": "a"}), (name, {}), ("write", {"text": "b"})), say("x")]
        await bench.start(june(stop, stop_later, write, script=script))
        result = await run(bench.session())
        assert result.status == "failed"
        assert result.error == {"message": "no use", "phase": "tool", "step": "tool:1:call_1_1"}
        no_orphans(await bench.session().transcript())
        assert await outputs(bench.session()) == [
            "a",
            {"error": "no use"},
            {"error": "not run: the turn failed"},
        ]
        failed = (await logged(bench, result.turn_id))[-1]
        assert isinstance(failed, TurnFailed)
        assert (failed.phase, failed.step) == ("tool", "tool:1:call_1_1")

    async def test_the_next_turn_runs_after_a_failed_one(self, bench: Bench) -> None:
        @tool
        async def stop() -> None:
            raise FatalToolError("no use")

        await bench.start(
            june(stop, script=lambda r: calls(("stop", {})) if r.text == "1" else say("fine"))
        )
        assert (await run(bench.session(), "1")).status == "failed"
        assert (await run(bench.session(), "2")).text == "fine"

    async def test_so_does_the_one_that_waited_for_it(self, bench: Bench) -> None:
        @tool
        async def stop(ctx: ToolContext) -> None:
            await ask_for(ctx)
            raise FatalToolError("no use")

        await bench.start(
            june(stop, script=lambda r: calls(("stop", {})) if r.text == "1" else say("fine"))
        )
        session = bench.session()
        asked = await park(session, "1")
        await session.start(TurnInput(message="2", turn_id="t2"), when_suspended="queue")
        assert (await answer(session, asked, True)).status == "failed"
        assert (await soon(session.result("t2"))).text == "fine"
        no_orphans(await session.transcript())

    async def test_an_invented_tool_is_an_error_result(self, bench: Bench) -> None:
        await bench.start(june(write, script=once("Write")))
        assert (await run(bench.session())).status == "completed"
        assert await error_of(bench.session()) == "there is no tool 'Write'. Tools: write"

    async def test_invalid_input_names_the_fields_and_runs_nothing(self, bench: Bench) -> None:
        ran: list[int] = []

        @tool
        async def add(one: int, two: int) -> int:
            ran.append(one)
            return one + two

        await bench.start(june(add, script=once("add", one="x")))
        await run(bench.session())
        told = await error_of(bench.session())
        assert "one" in told
        assert "two" in told
        assert ran == []

    async def test_a_call_that_was_cut_off_is_never_run(self, bench: Bench) -> None:
        ran: list[str] = []

        @tool
        async def pay(order: str) -> str:
            ran.append(order)
            return order

        cut = ToolCall("c1", "pay", {"order": "4"}, problem="the call was cut off")
        await bench.start(june(pay, script=[ModelReply((cut,), stop="max_tokens"), say("done")]))
        await run(bench.session())
        assert await error_of(bench.session()) == "the call was cut off"
        assert ran == []

    async def test_a_result_that_is_not_json_is_an_error_result(self, bench: Bench) -> None:
        @tool
        async def odd() -> object:
            return object()

        await bench.start(june(odd, script=once("odd")))
        assert (await run(bench.session())).status == "completed"
        assert "isn't JSON" in await error_of(bench.session())

    @pytest.mark.parametrize("error", [RuntimeError("lost"), SystemExit("lost")])
    @pytest.mark.parametrize("remote", [False, True])
    async def test_a_result_that_raises_when_it_is_read_is_an_error_result(
        self, bench: Bench, remote: bool, error: BaseException
    ) -> None:
        @tool
        def odd() -> object:
            return Trap(error)

        @tool
        async def odd_later() -> object:
            return Trap(error)

        await bench.start(june(odd, odd_later, script=once("odd_later" if remote else "odd")))
        assert (await run(bench.session())).status == "completed"
        told = f"the tool's result can't be read: {type(error).__name__}: lost"
        assert await error_of(bench.session()) == told

    async def test_a_result_over_the_limit_is_cut_and_marked(self, bench: Bench) -> None:
        @tool
        async def much() -> str:
            return "é" * 5000

        await bench.start(june(much, script=once("much")), limits=Limits(tool_result_bytes=1000))
        await run(bench.session())
        [output] = await outputs(bench.session())
        assert isinstance(output, dict)
        assert (output["cut"], output["bytes"]) == (True, 10_002)
        assert len(str(output["start"]).encode()) <= 500

    async def test_a_tool_that_takes_too_long_is_an_error_with_its_key(self, bench: Bench) -> None:
        keys: list[str] = []

        @tool(timeout=0.02)
        async def slow(ctx: ToolContext) -> None:
            keys.append(ctx.idempotency_key)
            await asyncio.Event().wait()

        await bench.start(june(slow, script=once("slow")))
        await run(bench.session())
        [output] = await outputs(bench.session())
        assert isinstance(output, dict)
        assert "may have taken effect" in str(output["error"])
        assert output["idempotency_key"] == keys[0]
