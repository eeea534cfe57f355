"""A park is sticky: whatever a tool does about it, the turn parks."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from gateway.engine.steps.context import ToolContext
from gateway.engine.tool import Tool, tool
from tests.conformance.engine.cast import ask_for
from tests.conformance.engine.kit import (
    Bench,
    answer,
    error_of,
    june,
    kinds,
    once,
    outputs,
    park,
    results,
    run,
)


@tool
async def bare_except(ctx: ToolContext) -> str:
    try:
        return f"answer {await ask_for(ctx)}"
    except:  # noqa: E722 - the shape under test
        return "swallowed"


@tool
async def base_exception(ctx: ToolContext) -> str:
    try:
        return f"answer {await ask_for(ctx)}"
    except BaseException:  # noqa: BLE001 - the shape under test
        return "swallowed"


@tool
async def task_group(ctx: ToolContext) -> str:
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(ask_for(ctx))
        group.create_task(asyncio.sleep(0))
    return f"answer {asked.result()}"


@tool
async def gathered(ctx: ToolContext) -> str:
    found = await asyncio.gather(ask_for(ctx), asyncio.sleep(0), return_exceptions=True)  # noqa: TID251
    return f"answer {found[0]}"


@tool
async def finally_return(ctx: ToolContext) -> str:
    said = "swallowed"
    try:
        said = f"answer {await ask_for(ctx)}"
    finally:
        return said  # noqa: B012 - the shape under test


@tool
async def raised_anew(ctx: ToolContext) -> str:
    try:
        return f"answer {await ask_for(ctx)}"
    except BaseException as error:
        raise RuntimeError("something else") from error


@tool
async def retried(ctx: ToolContext) -> str:
    for _ in range(3):
        try:
            return f"answer {await ask_for(ctx)}"
        except BaseException:  # noqa: BLE001 - the shape under test
            await asyncio.sleep(0)
    return "swallowed"


@tool
async def suppressed(ctx: ToolContext) -> str:
    with contextlib.suppress(BaseException):
        return f"answer {await ask_for(ctx)}"
    return "swallowed"


@tool
async def nested(ctx: ToolContext) -> str:
    async def outer() -> str:
        async def inner() -> bool:
            try:
                return await ask_for(ctx)
            except Exception:  # noqa: BLE001 - the shape under test
                return False

        return f"answer {await inner()}"

    return await outer()


@tool
async def shielded(ctx: ToolContext) -> str:
    try:
        return f"answer {await asyncio.shield(ask_for(ctx))}"
    except BaseException:  # noqa: BLE001 - the shape under test
        return "swallowed"


@tool
async def left_behind(ctx: ToolContext) -> str:
    task = asyncio.ensure_future(ask_for(ctx))  # noqa: TID251 - the shape under test
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return f"answer {task.result() if task.done() else None}"


@tool
async def deaf(ctx: ToolContext) -> str:
    """Goes on for a while whatever it is told."""
    try:
        return f"answer {await ask_for(ctx)}"
    except BaseException:  # noqa: BLE001 - the shape under test
        for _ in range(20):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
        return "swallowed"


SHAPES = [
    *(bare_except, base_exception, task_group, gathered, finally_return, raised_anew, retried),
    *(suppressed, nested, shielded, left_behind, deaf),
]


class TestSwallowedParks:
    @pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: str(shape.name))
    async def test_a_park_cannot_be_swallowed(self, bench: Bench, shape: Tool) -> None:
        await bench.start(june(shape, script=once(shape.name)))
        session = bench.session()
        asked = await park(session)
        assert results(await session.transcript()) == []
        assert (await answer(session, asked, True)).status == "completed"
        assert await outputs(session) == ["answer True"]
        events = await kinds(bench, asked.turn_id)
        assert events.count("input.requested") == 1
        assert events.count("action.completed") == 1

    async def test_the_context_refuses_everything_after_a_park(self, bench: Bench) -> None:
        got: list[str] = []

        @tool
        async def goes_on(ctx: ToolContext) -> str:
            with contextlib.suppress(BaseException):
                return f"answer {await ask_for(ctx)}"
            for use in ("session", "idempotency_key", "decision", "services"):
                try:
                    got.append(str(getattr(ctx, use)))
                except BaseException as error:  # noqa: BLE001 - it must not be an Exception
                    assert not isinstance(error, Exception)  # noqa: PT017
            return "x"

        await bench.start(june(goes_on, script=once("goes_on")))
        await park(bench.session())
        assert got == []

    @pytest.mark.parametrize("kind", ["if", "not", "equals", "never looked at"])
    async def test_a_request_that_is_never_awaited_is_no_yes(self, bench: Bench, kind: str) -> None:
        paid: list[str] = []

        @tool(effect="money", key=("item",))
        async def pay(ctx: ToolContext, item: str) -> str:
            said = ctx.request_input(id="ok", prompt="Really?")
            match kind:
                case "if":
                    allowed = "yes" if said else "no"
                case "not":
                    allowed = "no" if not said else "yes"
                case "equals":
                    allowed = "yes" if said == True else "no"  # noqa: E712 - what authors write
                case _:
                    return "done"
            paid.append(allowed)
            return allowed

        await bench.start(june(pay, script=once("pay", item="42")))
        assert (await run(bench.session())).status == "completed"
        assert paid == []
        told = await error_of(bench.session())
        assert "never awaited" in told
        assert "write `await ctx.request_input(…)`" in told

    async def test_a_def_tool_that_asks_is_told_at_once_even_if_it_never_awaits(
        self, bench: Bench
    ) -> None:
        ran: list[str] = []

        @tool
        def refund(ctx: ToolContext) -> str:
            asked: object = ctx.request_input(id="ok", prompt="?")
            if asked:
                ran.append("paid")
            return "done"

        await bench.start(june(refund, script=once("refund")))
        assert (await run(bench.session())).status == "completed"
        assert "`async def`" in await error_of(bench.session())
        assert ran == []
