"""Requests, votes, answers: where each is shown, and that all who watch are told."""

from __future__ import annotations

import pytest

from gateway.engine.agent import AgentDef
from gateway.engine.session import Session
from gateway.engine.steps.context import ToolContext
from gateway.engine.tool import tool
from tests.conformance.engine.cast import Hook, ask, asking
from tests.conformance.engine.kit import (
    OTHER,
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
    until,
)
from tests.conformance.engine.ways.kit import LANE, PLACE, rest, rows, show, shown, wanted
from tests.support.turns import calls


class TestDecisions:
    @pytest.mark.parametrize("value", [True, False])
    async def test_a_request_and_its_answer(self, bench: Bench, value: bool) -> None:
        await bench.start(june(ask, script=once("ask")))
        session = bench.session()
        asked = (await rest(session, shown())).request
        assert asked is not None
        assert await wanted(bench) == [("reply", 2), ("card", 2)]
        await answer(session, asked, value, by=SLACK.id)
        # The answer, the end of the call that asked, the end of the turn.
        assert await wanted(bench) == [("reply", 5), ("card", 5)]

    async def test_the_calls_end_is_told_before_the_turns(self, bench: Bench) -> None:
        hold = Hold()

        @tool
        async def after() -> None:
            await hold.here()

        script = [calls(("ask", {})), calls(("after", {})), say("done")]
        await bench.start(june(ask, after, script=script))
        session = bench.session()
        asked = (await rest(session, shown())).request
        assert asked is not None
        await session.resume("t1", asked.id, True, by=SLACK.id)
        await hold.wait()
        assert await wanted(bench) == [("reply", 4), ("card", 4)]
        hold.go()
        await soon(session.result("t1"))
        assert await wanted(bench) == [("reply", 5), ("card", 5)]

    async def test_a_vote_and_the_same_vote_again(self, bench: Bench) -> None:
        hook = Hook(SLACK.id, OTHER.id)
        await bench.start(asking({"policy": "leads", "quorum": 2}, hook))
        session = bench.session()
        asked = (await rest(session, shown())).request
        assert asked is not None
        for by, decided, told in ((SLACK, False, 3), (SLACK, False, 3), (OTHER, True, 4)):
            granted = await session.grant(asked.id, by=by.id)
            gate = bench.store.hold("begin") if decided else None
            done = await session.resume("t1", asked.id, True, by=by.id, granted=granted)
            assert done.decided is decided
            assert await wanted(bench) == [("reply", told), ("card", told)]
            if gate is not None:
                gate.go()
        await soon(session.result("t1"))

    async def test_nobody_answers_in_time(self, bench: Bench) -> None:
        hands = Hands()
        await bench.start(asking(expires_in=60, on_expiry=False), clock=hands.clock)
        session = bench.session()
        await rest(session, shown())
        gate = bench.store.hold("begin")
        hands.forward(61)
        await until(lambda: _told(bench, [("reply", 3), ("card", 3)]))
        gate.go()
        await until(lambda: _ended(session))
        assert await wanted(bench) == [("reply", 5), ("card", 5)]

    async def test_each_request_has_a_view_of_its_own(self, bench: Bench) -> None:
        @tool
        async def both(ctx: ToolContext) -> list[object]:
            return [await ctx.request_input(id=n, prompt=f"Do {n}?") for n in ("one", "two")]

        await bench.start(june(both, script=once("both")))
        session = bench.session()
        one = (await rest(session, shown())).request
        assert one is not None
        two = (await answer(session, one, True, by=SLACK.id)).request
        assert two is not None
        found = [(row.part, row.request) for row in (await rows(bench))[1:]]
        assert found == [(f"card:{one.id}", one.id), (f"card:{two.id}", two.id)]
        assert await wanted(bench) == [("reply", 4), ("card", 4), ("card", 2)]

    async def test_a_request_that_another_one_replaces_is_told_of(self, bench: Bench) -> None:
        prices = iter([5, 9, 9, 9])

        @tool
        async def pay(ctx: ToolContext) -> bool:
            asked = f"Pay {next(prices)}?"
            return bool(await ctx.request_input(id="ok", prompt=asked))

        await bench.start(june(pay, script=once("pay")))
        session = bench.session()
        old = (await rest(session, shown())).request
        assert old is not None
        await show(bench)
        new = (await answer(session, old, True, by=SLACK.id)).request
        assert new is not None
        assert new.id != old.id
        assert [row.request for row in await rows(bench)] == [None, old.id, new.id]
        assert [row.state for row in await rows(bench)] == ["due", "due", "due"]
        assert await bench.store.find_request(old.id) is None
        await answer(session, new, True, by=SLACK.id)


class TestWhereARequestIsShown:
    async def test_where_it_was_asked_in_that_places_lane(self, bench: Bench) -> None:
        await bench.start(june(ask, script=once("ask")))
        asked = (await rest(bench.session(), shown())).request
        assert asked is not None
        card = (await rows(bench))[1]
        assert (card.source, card.target, card.lane) == ("slack", PLACE, LANE)
        assert (card.part, card.request) == (f"card:{asked.id}", asked.id)

    async def test_where_its_policy_is_decided_although_nobody_watched_the_turn(
        self, bench: Bench
    ) -> None:
        await bench.start(_leads())
        session = bench.session()
        asked = await park(session, turn_id="t1")
        (card,) = await rows(bench)
        assert (card.source, card.lane) == ("slack", f"slack:C0123#{card.request}")
        assert card.target == {"source": "slack", "address": "C0123"}
        assert card.request == asked.id
        await _decide(session, asked.id)
        assert (await soon(session.result("t1"))).status == "completed"
        assert await wanted(bench) == [("card", 5)]

    async def test_the_place_that_waits_is_told_of_it_too(self, bench: Bench) -> None:
        await bench.start(_leads())
        await rest(bench.session(), shown())
        reply, card = await rows(bench)
        assert (reply.part, reply.wanted) == ("reply", 2)
        assert card.target == {"source": "slack", "address": "C0123"}

    async def test_a_routed_request_outlives_the_process(self, bench: Bench) -> None:
        bench.need_durable()
        await bench.start(_leads())
        await park(bench.session(), turn_id="t1")
        await bench.kill()
        await bench.start()
        session = bench.session()
        asked = await session.pending()
        assert asked is not None
        await session.cancel("t1")
        assert await wanted(bench) == [("card", 3)]

    @pytest.mark.parametrize("approvals", [{}, {"others": "slack:C9"}, {"leads": "console"}])
    async def test_nowhere_when_nobody_watches_and_no_place_is_named(
        self, bench: Bench, approvals: dict[str, str]
    ) -> None:
        await bench.start(_leads(approvals))
        session = bench.session()
        asked = await park(session, turn_id="t1")
        await _decide(session, asked.id)
        assert (await soon(session.result("t1"))).status == "completed"
        assert await wanted(bench) == []

    async def test_the_taint_gates_request_is_shown_like_any(self, bench: Bench) -> None:
        @tool(effect="external")
        async def send() -> str:
            return "sent"

        hook = Hook(OTHER.id)
        agent = june(
            send, script=once("send"), authorize_answer=hook, approvals={"taint": "slack:C0123"}
        )
        await bench.start(agent)
        session = bench.session()
        asked = (await rest(session, shown(trust="unattested"))).request
        assert asked is not None
        await _decide(session, asked.id)
        assert (await soon(session.result("t1"))).status == "completed"
        assert await wanted(bench) == [("reply", 5), ("card", 5)]


def _leads(approvals: dict[str, str] | None = None) -> AgentDef:
    """An agent whose leads decide, in a channel of theirs."""

    @tool
    async def work(ctx: ToolContext) -> bool:
        return bool(await ctx.request_input(id="ok", prompt="?", answerers={"policy": "leads"}))

    return june(
        work,
        script=once("work"),
        authorize_answer=Hook(OTHER.id),
        approvals={"leads": "slack:C0123"} if approvals is None else approvals,
    )


async def _decide(session: Session, request: str) -> None:
    granted = await session.grant(request, by=OTHER.id)
    await session.resume("t1", request, True, by=OTHER.id, granted=granted)


async def _told(bench: Bench, expected: list[tuple[str, int]]) -> bool:
    return await wanted(bench) == expected


async def _ended(session: Session) -> bool:
    return (await session.snapshot("t1")).state == "completed"
