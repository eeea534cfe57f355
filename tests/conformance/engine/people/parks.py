"""Parks: one checkpoint, days of waiting, and the tool that runs again from the top."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from gateway.engine.events import InputAnswered, InputRequested, TurnStarted
from gateway.engine.model import ModelReply, ModelRequest
from gateway.engine.session import Session
from gateway.engine.steps.context import ToolContext
from gateway.engine.tool import tool
from tests.conformance.engine.cast import ask, ask_for
from tests.conformance.engine.kit import (
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
    run,
    say,
    soon,
    until,
)
from tests.support.turns import calls


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
            return await ask_for(ctx)

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
            return [await ask_for(ctx, "one"), await ask_for(ctx, "two")]

        await bench.start(june(both, script=once("both")))
        session = bench.session()
        one = await park(session)
        result = await answer(session, one, True)
        assert result.request is not None
        assert (one.name, result.request.name) == ("one", "two")
        assert (await answer(session, result.request, False)).status == "completed"
        assert await outputs(session) == [[True, False]]

    async def test_two_different_requests_of_one_id_are_not_asked_without_end(
        self, bench: Bench
    ) -> None:
        @tool
        async def both(ctx: ToolContext) -> list[object]:
            return [await ctx.request_input(id="ok", prompt=f"Order {n}?") for n in (1, 2)]

        await bench.start(june(both, script=once("both")))
        session = bench.session()
        result = await answer(session, await park(session), True)
        assert result.status == "completed"
        assert "share the id 'ok'" in await error_of(session)

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
            return await ask_for(ctx)

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
            return await ask_for(ctx)

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
        session, hold = await _about_to_ask(bench)
        await session.cancel("t1")
        hold.go()
        assert (await soon(session.result("t1"))).status == "cancelled"
        assert await outputs(session) == [{"cancelled": True}]
        assert "input.requested" not in await kinds(bench, "t1")
        no_orphans(await session.transcript())

    async def test_what_a_cancelled_park_left_behind_stands_in_the_next_turns_transcript(
        self, bench: Bench
    ) -> None:
        shown: list[list[str]] = []

        def script(request: ModelRequest) -> ModelReply:
            shown.append([message.role for message in request.messages])
            return calls(("ask", {})) if request.text == "go" else say("re")

        await bench.start(june(ask, script=script))
        session = bench.session()
        request = await park(session)
        await session.cancel(request.turn_id)
        assert (await run(session, "2")).text == "re"
        assert shown[-1] == ["user", "assistant", "tool", "user"]
        no_orphans(await session.transcript())

    async def test_a_reset_that_comes_while_the_tool_asks_is_carried_out(
        self, bench: Bench
    ) -> None:
        session, hold = await _about_to_ask(bench)
        async with asyncio.TaskGroup() as group:
            done = group.create_task(soon(session.reset()))
            await until(lambda: bench.stands("resetting"))
            hold.go()
        assert done.result().generation == 1
        assert (await soon(session.result("t1"))).error == {"reason": "reset"}

    async def test_a_call_that_was_answered_and_then_cancelled_is_no_unknown_outcome(
        self, bench: Bench
    ) -> None:
        @tool
        async def work(ctx: ToolContext) -> bool:
            return await ask_for(ctx)

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
            ({"id": 5}, "needs an id"),
            ({"id": "x" * 257}, "needs an id"),
            ({"id": "\ud800"}, "needs an id"),
            ({"prompt": None}, "is text, not NoneType"),
            ({"on_expiry": "x"}, "doesn't fit the schema"),
            ({"expires_in": 0}, "above 0"),
            ({"expires_in": float("inf")}, "above 0"),
            ({"expires_in": float("nan")}, "above 0"),
            ({"expires_in": 1e30}, "above 0"),
            ({"expires_in": "5"}, "above 0"),
            ({"answerers": {"group": "x"}}, "can't be understood"),
            ({"answerers": {"user": "a:b", "policy": "x"}}, "can't be understood"),
            ({"answerers": {"user": None}}, "a user that is a non-empty text"),
            ({"answerers": {"user": ""}}, "a user that is a non-empty text"),
            ({"answerers": {"user": ["a:b", "a:c"]}}, "a user that is a non-empty text"),
            ({"answerers": {"policy": None, "quorum": 2}}, "a policy that is a non-empty text"),
            ({"answerers": {"policy": "", "not_requester": True}}, "a policy that is a non-empty"),
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


async def _about_to_ask(bench: Bench) -> tuple[Session, Hold]:
    """Turn ``t1`` is in a tool that asks a person as soon as the hold lets it go."""
    hold = Hold()

    @tool
    async def work(ctx: ToolContext) -> bool:
        await hold.here()
        return await ask_for(ctx)

    await bench.start(june(work, script=once("work")))
    session = await bench.begin()
    await hold.wait()
    return session, hold
