"""Who answers when nobody is named, and what becomes of a request that nobody answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gateway.engine.errors import (
    ResumeAuthorizationError,
    StaleAnswerError,
)
from gateway.engine.kinds import JsonObject, Speaker
from gateway.engine.outcomes import PendingInput
from gateway.engine.session import Session
from gateway.engine.steps.context import ToolContext
from gateway.engine.tool import tool
from tests.conformance.engine.cast import REQUEST, asking
from tests.conformance.engine.kit import (
    MAIL,
    OTHER,
    SLACK,
    STRANGER,
    Bench,
    Hands,
    answer,
    error_of,
    june,
    once,
    outputs,
    park,
    results,
    run,
    soon,
    until,
)


class TestDefaultAnswerers:
    async def test_a_speaker_whom_the_provider_vouches_for_answers_themselves(
        self, bench: Bench
    ) -> None:
        await bench.start(asking())
        session = bench.session()
        asked = await park(session, speaker=SLACK, event=REQUEST, source="slack")
        assert asked.answerers == {"user": SLACK.id}
        with pytest.raises(ResumeAuthorizationError):
            await session.resume(asked.turn_id, asked.id, True, by=OTHER.id)
        assert (await answer(session, asked, True, by=SLACK.id)).status == "completed"

    @pytest.mark.parametrize("speaker", [MAIL, STRANGER, replace(MAIL, level="domain")])
    async def test_a_speaker_who_is_not_verified_well_enough_cannot_park(
        self, bench: Bench, speaker: Speaker
    ) -> None:
        @tool(effect="read")
        async def work(ctx: ToolContext) -> object:
            return await ctx.request_input(id="ok", prompt="?")

        await bench.start(june(work, script=once("work")))
        result = await run(bench.session(), speaker=speaker, event=REQUEST)
        assert result.status == "completed"
        assert "name an answerer" in await error_of(bench.session())

    async def test_a_programmatic_turn_is_answered_by_whoever_drives_it(self, bench: Bench) -> None:
        await bench.start(asking())
        asked = await park(bench.session())
        assert asked.answerers == {"anyone": True}
        assert (await answer(bench.session(), asked, True)).status == "completed"

    @pytest.mark.parametrize("given", [{"target": {"slack": "C1"}}, {"event": REQUEST}])
    async def test_a_turn_without_speaker_that_is_shown_on_a_channel_needs_a_name(
        self, bench: Bench, given: dict[str, JsonObject]
    ) -> None:
        @tool(effect="read")
        async def work(ctx: ToolContext) -> object:
            return await ctx.request_input(id="ok", prompt="?")

        await bench.start(june(work, script=once("work")))
        more: dict[str, Any] = {"trigger": "proactive", "by": "cron:daily", **given}
        assert (await run(bench.session(), **more)).status == "completed"
        assert "name an answerer" in await error_of(bench.session())

    async def test_with_a_name_it_parks(self, bench: Bench) -> None:
        await bench.start(asking({"user": "slack:T1:U9"}))
        more: dict[str, Any] = {"trigger": "proactive", "by": "cron:daily", "target": {"x": "y"}}
        asked = await park(bench.session(), **more)
        assert asked.answerers == {"user": "slack:T1:U9"}


class TestExpiry:
    async def test_with_on_expiry_the_tool_gets_that_value(self, bench: Bench) -> None:
        hands = Hands()
        await bench.start(asking(expires_in=60, on_expiry=False), clock=hands.clock)
        asked = await park(bench.session())
        hands.forward(61)
        result = await _next_rest(bench.session(), asked, hands)
        assert result == "completed"
        assert (await outputs(bench.session()))[0] == {
            "got": False,
            "outcome": "expired",
            "by": "timer",
        }

    async def test_without_it_the_tool_is_told_that_nobody_answered(self, bench: Bench) -> None:
        hands = Hands()
        await bench.start(asking(expires_in=60), clock=hands.clock)
        asked = await park(bench.session())
        hands.forward(61)
        assert await _next_rest(bench.session(), asked, hands) == "completed"
        told = await error_of(bench.session())
        assert told.startswith("InputExpired: nobody answered in time")
        [result] = results(await bench.session().transcript())
        assert result.decision is not None
        assert result.decision["outcome"] == "expired"

    async def test_an_answer_after_the_deadline_does_nothing(self, bench: Bench) -> None:
        hands = Hands()
        await bench.start(asking(expires_in=60), clock=hands.clock)
        session = bench.session()
        asked = await park(session)
        hands.passed += 60.0
        with pytest.raises(StaleAnswerError):
            await session.resume(asked.turn_id, asked.id, True)

    async def test_a_request_that_expired_while_nobody_ran_goes_on_at_start(
        self, bench: Bench
    ) -> None:
        bench.need_durable()
        hands = Hands()
        await bench.start(asking(expires_in=60, on_expiry=False), clock=hands.clock)
        asked = await park(bench.session())
        await bench.kill()
        hands.forward(3600)
        await bench.start(clock=hands.clock)
        assert await _next_rest(bench.session(), asked, hands) == "completed"

    async def test_expired_denied_and_cancelled_are_three_things_to_the_model(
        self, bench: Bench
    ) -> None:
        hands = Hands()
        await bench.start(asking(expires_in=60, on_expiry=False), clock=hands.clock)
        expired = await park(bench.session("a"))
        hands.forward(61)
        await _next_rest(bench.session("a"), expired, hands)
        denied = await park(bench.session("b"))
        await answer(bench.session("b"), denied, False)
        cancelled = await park(bench.session("c"))
        await bench.session("c").cancel(cancelled.turn_id)
        told = [
            (results(await bench.session(key).transcript())[0].output, decision)
            for key, decision in (("a", "expired"), ("b", "denied"), ("c", None))
        ]
        assert told[0][0] != told[1][0] != told[2][0]
        assert told[2][0] == {"cancelled": True}


async def _next_rest(session: Session, asked: PendingInput, hands: Hands) -> str:
    """Where the turn rests once it has left the request."""

    async def left() -> bool:
        hands.forward(0.5)
        return (await session.snapshot(asked.turn_id)).request != asked

    await until(left)
    return (await soon(session.result(asked.turn_id))).status
