"""A park is sticky: whatever a tool does about it, the turn parks."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import timedelta

import pytest

from gateway.engine.events import InputAnswered, InputRequested, TurnStarted
from gateway.engine.outcomes import TurnInput
from gateway.engine.steps.context import ToolContext
from gateway.engine.tool import Tool, tool
from tests.conformance.engine_kit import (
    Bench,
    Hands,
    Hold,
    answer,
    audits,
    error_of,
    june,
    kinds,
    logged,
    no_orphans,
    once,
    outputs,
    park,
    results,
    run,
    say,
    soon,
    until,
)
from tests.support.turns import calls


async def ask(ctx: ToolContext, name: str = "ok") -> bool:
    return bool(await ctx.request_input(id=name, prompt=f"Do {name}?"))


@tool
async def bare_except(ctx: ToolContext) -> str:
    try:
        return f"answer {await ask(ctx)}"
    except:  # noqa: E722 - the shape under test
        return "swallowed"


@tool
async def base_exception(ctx: ToolContext) -> str:
    try:
        return f"answer {await ask(ctx)}"
    except BaseException:  # noqa: BLE001 - the shape under test
        return "swallowed"


@tool
async def task_group(ctx: ToolContext) -> str:
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(ask(ctx))
        group.create_task(asyncio.sleep(0))
    return f"answer {asked.result()}"


@tool
async def gathered(ctx: ToolContext) -> str:
    found = await asyncio.gather(ask(ctx), asyncio.sleep(0), return_exceptions=True)  # noqa: TID251
    return f"answer {found[0]}"


@tool
async def finally_return(ctx: ToolContext) -> str:
    said = "swallowed"
    try:
        said = f"answer {await ask(ctx)}"
    finally:
        return said  # noqa: B012 - the shape under test


@tool
async def raised_anew(ctx: ToolContext) -> str:
    try:
        return f"answer {await ask(ctx)}"
    except BaseException as error:
        raise RuntimeError("something else") from error


@tool
async def retried(ctx: ToolContext) -> str:
    for _ in range(3):
        try:
            return f"answer {await ask(ctx)}"
        except BaseException:  # noqa: BLE001 - the shape under test
            await asyncio.sleep(0)
    return "swallowed"


@tool
async def suppressed(ctx: ToolContext) -> str:
    with contextlib.suppress(BaseException):
        return f"answer {await ask(ctx)}"
    return "swallowed"


@tool
async def nested(ctx: ToolContext) -> str:
    async def outer() -> str:
        async def inner() -> bool:
            try:
                return await ask(ctx)
            except Exception:  # noqa: BLE001 - the shape under test
                return False

        return f"answer {await inner()}"

    return await outer()


@tool
async def shielded(ctx: ToolContext) -> str:
    try:
        return f"answer {await asyncio.shield(ask(ctx))}"
    except BaseException:  # noqa: BLE001 - the shape under test
        return "swallowed"


@tool
async def left_behind(ctx: ToolContext) -> str:
    task = asyncio.ensure_future(ask(ctx))  # noqa: TID251 - the shape under test
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return f"answer {task.result() if task.done() else None}"


@tool
async def deaf(ctx: ToolContext) -> str:
    """Goes on for a while whatever it is told."""
    try:
        return f"answer {await ask(ctx)}"
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
                return f"answer {await ask(ctx)}"
            for use in ("session", "idempotency_key", "decision", "services"):
                try:
                    got.append(str(getattr(ctx, use)))
                except BaseException as error:  # noqa: BLE001 - it must not be an Exception
                    assert not isinstance(error, Exception)  # noqa: PT017
            return "x"

        await bench.start(june(goes_on, script=once("goes_on")))
        await park(bench.session())
        assert got == []

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


class TestParks:
    async def test_the_tool_runs_again_from_the_top_and_gets_the_answer(self, bench: Bench) -> None:
        seen: list[str] = []

        @tool
        async def work(ctx: ToolContext) -> str:
            seen.append("top")
            got = await ctx.request_input(id="name", prompt="Which?", schema=str)
            seen.append(f"got {got}")
            return str(got)

        await bench.start(june(work, script=once("work")))
        asked = await park(bench.session())
        assert seen == ["top"]
        await answer(bench.session(), asked, "this one")
        assert seen == ["top", "top", "got this one"]
        assert await outputs(bench.session()) == ["this one"]

    async def test_calls_before_the_park_are_not_run_again(self, bench: Bench) -> None:
        seen: list[str] = []

        @tool
        async def first() -> None:
            seen.append("first")

        @tool
        async def second(ctx: ToolContext) -> bool:
            return await ask(ctx)

        @tool
        async def third() -> None:
            seen.append("third")

        script = [calls(("first", {}), ("second", {}), ("third", {})), say("done")]
        await bench.start(june(first, second, third, script=script))
        asked = await park(bench.session())
        assert seen == ["first"]
        await answer(bench.session(), asked, True)
        assert seen == ["first", "third"]

    async def test_two_requests_in_one_tool_are_asked_one_after_the_other(
        self, bench: Bench
    ) -> None:
        @tool
        async def both(ctx: ToolContext) -> list[bool]:
            return [await ask(ctx, "one"), await ask(ctx, "two")]

        await bench.start(june(both, script=once("both")))
        session = bench.session()
        one = await park(session)
        result = await answer(session, one, True)
        assert result.request is not None
        assert (one.name, result.request.name) == ("one", "two")
        assert (await answer(session, result.request, False)).status == "completed"
        assert await outputs(session) == [[True, False]]

    async def test_two_refunds_in_one_batch_and_one_approval_run_one(self, bench: Bench) -> None:
        paid: list[str] = []

        @tool(effect="money", key=("order",))
        async def refund(ctx: ToolContext, order: str) -> bool:
            if ok := bool(await ctx.request_input(id="ok", prompt="Refund?")):
                paid.append(order)
            return ok

        script = [calls(("refund", {"order": "1"}), ("refund", {"order": "2"})), say("done")]
        await bench.start(june(refund, script=script))
        session = bench.session()
        one = await park(session)
        result = await answer(session, one, True)
        assert result.request is not None
        assert result.request.id != one.id
        assert paid == ["1"]
        await answer(session, result.request, False)
        assert paid == ["1"]
        assert await outputs(session) == [True, False]

    async def test_another_wording_on_re_entry_parks_anew(self, bench: Bench) -> None:
        price = ["10"]

        @tool
        async def buy(ctx: ToolContext) -> str:
            ok = await ctx.request_input(id="ok", prompt=f"Pay {price[0]}?")
            return f"paid {price[0]}" if ok else "no"

        await bench.start(june(buy, script=once("buy")))
        session = bench.session()
        ten = await park(session)
        price[0] = "1000"
        result = await answer(session, ten, True)
        assert result.status == "suspended"
        assert result.request is not None
        assert result.request.prompt == "Pay 1000?"
        assert (result.request.id, result.request.digest) != (ten.id, ten.digest)
        await answer(session, result.request, True)
        assert await outputs(session) == ["paid 1000"]

    async def test_answers_never_carry_over_to_a_later_turn(self, bench: Bench) -> None:
        @tool
        async def work(ctx: ToolContext) -> bool:
            return await ask(ctx)

        await bench.start(june(work, script=once("work")))
        session = bench.session()
        one = await park(session)
        await answer(session, one, True)
        two = await park(session)
        assert two.id != one.id

    async def test_a_park_survives_thirty_days_and_two_crashes(self, bench: Bench) -> None:
        bench.need_durable()
        hands = Hands()

        @tool
        async def work(ctx: ToolContext) -> bool:
            return await ask(ctx)

        agent = june(work, script=once("work"))
        await bench.start(agent, clock=hands.clock)
        asked = await park(bench.session())
        for _ in range(2):
            hands.forward(15 * 86_400)
            await bench.kill()
            await bench.start(agent, clock=hands.clock)
            assert await bench.session().pending() == asked
        assert (await answer(bench.session(), asked, True)).status == "completed"
        events = await logged(bench, asked.turn_id)
        triggers = [event.trigger for event in events if isinstance(event, TurnStarted)]
        assert triggers == ["inbound", "resume"]

    async def test_the_events_of_a_park_say_all_that_a_card_shows(self, bench: Bench) -> None:
        @tool
        async def work(ctx: ToolContext) -> bool:
            return bool(
                await ctx.request_input(
                    id="ok", prompt="Go?", expires_in=timedelta(hours=1), on_expiry=False
                )
            )

        hands = Hands()
        await bench.start(june(work, script=once("work")), clock=hands.clock)
        asked = await park(bench.session())
        await answer(bench.session(), asked, False, by="cli:me", reason="too late")
        events = await logged(bench, asked.turn_id)
        [requested] = [event for event in events if isinstance(event, InputRequested)]
        assert (requested.id, requested.name, requested.prompt) == (asked.id, "ok", "Go?")
        assert (requested.digest, requested.schema) == (asked.digest, asked.schema)
        assert requested.answerers == asked.answerers
        assert requested.expires_at == asked.created_at + 3_600_000
        [told] = [event for event in events if isinstance(event, InputAnswered)]
        assert (told.id, told.outcome, told.value) == (asked.id, "denied", False)
        assert (told.reason, told.by) == ("too late", "cli:me")

    async def test_a_cancel_that_comes_while_the_tool_asks_wins_over_the_park(
        self, bench: Bench
    ) -> None:
        hold = Hold()

        @tool
        async def work(ctx: ToolContext) -> bool:
            await hold.here()
            return await ask(ctx)

        await bench.start(june(work, script=once("work")))
        session = bench.session()
        await session.start(TurnInput(message="go", turn_id="t1"))
        await hold.wait()
        await session.cancel("t1")
        hold.go()
        assert (await soon(session.result("t1"))).status == "cancelled"
        assert await outputs(session) == [{"cancelled": True}]
        assert "input.requested" not in await kinds(bench, "t1")
        no_orphans(await session.transcript())

    async def test_a_reset_that_comes_while_the_tool_asks_is_carried_out(
        self, bench: Bench
    ) -> None:
        hold = Hold()

        @tool
        async def work(ctx: ToolContext) -> bool:
            await hold.here()
            return await ask(ctx)

        await bench.start(june(work, script=once("work")))
        session = bench.session()
        await session.start(TurnInput(message="go", turn_id="t1"))
        await hold.wait()
        async with asyncio.TaskGroup() as group:
            done = group.create_task(soon(session.reset()))
            await until(lambda: _resetting(bench))
            hold.go()
        assert done.result().generation == 1
        assert (await soon(session.result("t1"))).error == {"reason": "reset"}

    async def test_a_call_that_was_answered_and_then_cancelled_is_no_unknown_outcome(
        self, bench: Bench
    ) -> None:
        @tool
        async def work(ctx: ToolContext) -> bool:
            return await ask(ctx)

        await bench.start(june(work, script=once("work")))
        session = bench.session()
        asked = await park(session)
        gate = bench.store.hold("begin")
        await session.resume(asked.turn_id, asked.id, True)
        await gate.wait()
        await session.cancel(asked.turn_id)
        gate.go()
        assert (await soon(session.result(asked.turn_id))).status == "cancelled"
        assert await outputs(session) == [{"cancelled": True}]
        assert await audits(bench) == []

    async def test_a_request_over_the_limit_is_an_error_result(self, bench: Bench) -> None:
        @tool
        async def work(ctx: ToolContext) -> bool:
            return bool(await ctx.request_input(id="ok", prompt="x" * 70_000))

        await bench.start(june(work, script=once("work")))
        assert (await run(bench.session())).status == "completed"
        assert "65536 bytes" in await error_of(bench.session())

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            ({"id": ""}, "needs an id"),
            ({"on_expiry": "x"}, "doesn't fit the schema"),
            ({"expires_in": 0}, "above 0"),
            ({"answerers": {"group": "x"}}, "can't be understood"),
            ({"answerers": {"user": "a:b", "policy": "x"}}, "can't be understood"),
            ({"answerers": {"policy": "x", "quorum": 0}}, "quorum"),
            ({"answerers": {"user": "a:b", "quorum": 2}}, "quorum"),
        ],
    )
    async def test_a_request_that_cannot_work_is_an_error_result(
        self, bench: Bench, options: dict[str, object], told: str
    ) -> None:
        @tool
        async def work(ctx: ToolContext) -> bool:
            return bool(
                await ctx.request_input(**{"id": "ok", "prompt": "?", **options})  # type: ignore[arg-type]
            )

        await bench.start(june(work, script=once("work")))
        assert (await run(bench.session())).status == "completed"
        assert told in await error_of(bench.session())


async def _resetting(bench: Bench) -> bool:
    return await bench.session().status() == "resetting"
