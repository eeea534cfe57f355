"""Answers: what they must match, who may give them, what they do."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from gateway.engine.errors import (
    AlreadyAnsweredError,
    AuthorizeHookError,
    GatewayError,
    InvalidInputError,
    ResumeAuthorizationError,
    StaleAnswerError,
)
from gateway.engine.events import InputAnswered, InputVoted
from gateway.engine.kinds import Json
from gateway.engine.outcomes import PendingInput
from gateway.engine.session import Session
from tests.conformance.engine.cast import REQUEST, Hook, asking
from tests.conformance.engine.kit import (
    OTHER,
    SLACK,
    Bench,
    Hands,
    answer,
    kinds,
    logged,
    outputs,
    park,
    results,
    soon,
)


async def vote(session: Session, asked: PendingInput, by: str, value: Json = True) -> bool:
    granted = await session.grant(asked.id, by=by)
    done = await session.resume(asked.turn_id, asked.id, value, by=by, granted=granted)
    return done.decided


class TestAnswers:
    async def test_the_decision_is_in_the_context_and_in_the_result(self, bench: Bench) -> None:
        hands = Hands()
        await bench.start(asking(), clock=hands.clock)
        asked = await park(bench.session())
        await answer(bench.session(), asked, True, by="cli:me", reason="fine")
        [result] = results(await bench.session().transcript())
        assert result.output == {"got": True, "outcome": "approved", "by": "cli:me"}
        assert result.decision == {
            "outcome": "approved",
            "value": True,
            "reason": "fine",
            "by": "cli:me",
            "at": hands.clock.now(),
        }

    async def test_a_stale_answer_is_refused(self, bench: Bench) -> None:
        await bench.start(asking())
        session = bench.session()
        asked = await park(session)
        other = await park(bench.session("other"))
        for turn_id, input_id in (
            (asked.turn_id, "req_nonsense"),
            (asked.turn_id, other.id),
            (other.turn_id, asked.id),
        ):
            with pytest.raises(GatewayError) as refused:
                await session.resume(turn_id, input_id, True)
            assert refused.value.status in {404, 409}
        with pytest.raises(StaleAnswerError, match="digests differ"):
            await session.resume(asked.turn_id, asked.id, True, digest=other.digest + "x")
        assert await session.pending() == asked
        assert (await answer(session, asked, True, digest=asked.digest)).status == "completed"

    async def test_the_second_answer_learns_who_decided(self, bench: Bench) -> None:
        await bench.start(asking())
        session = bench.session()
        asked = await park(session)
        await answer(session, asked, True, by="cli:me")
        with pytest.raises(AlreadyAnsweredError, match="approved by cli:me") as refused:
            await session.resume(asked.turn_id, asked.id, False, by="cli:you")
        assert (refused.value.by, refused.value.outcome) == ("cli:me", "approved")
        assert refused.value.status == 409

    async def test_of_two_answers_at_once_one_wins_and_the_tool_runs_once(
        self, bench: Bench
    ) -> None:
        await bench.start(asking())
        session = bench.session()
        asked = await park(session)

        async def decide(by: str) -> str:
            try:
                await session.resume(asked.turn_id, asked.id, True, by=by)
            except AlreadyAnsweredError as lost:
                return f"lost to {lost.by}"
            return "won"

        async with asyncio.TaskGroup() as group:
            both = [group.create_task(decide(by)) for by in ("cli:a", "cli:b")]
        assert sorted(one.result() for one in both) in (
            ["lost to cli:a", "won"],
            ["lost to cli:b", "won"],
        )
        await soon(session.result(asked.turn_id))
        assert len(await outputs(session)) == 1
        assert (await kinds(bench, asked.turn_id)).count("input.answered") == 1

    async def test_errors_come_in_order_409_403_422(self, bench: Bench) -> None:
        await bench.start(asking({"user": "slack:T1:U9"}))
        session = bench.session()
        asked = await park(session)
        wrong = {"value": "maybe", "by": "slack:T1:U1"}
        with pytest.raises(StaleAnswerError):
            await session.resume(asked.turn_id, asked.id, "maybe", by="x:y", digest="0")
        with pytest.raises(ResumeAuthorizationError):
            await session.resume(asked.turn_id, asked.id, **wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError):
            await session.resume(asked.turn_id, asked.id, "maybe", by="slack:T1:U9")
        await answer(session, asked, True, by="slack:T1:U9")
        with pytest.raises(AlreadyAnsweredError):
            await session.resume(asked.turn_id, asked.id, **wrong)  # type: ignore[arg-type]

    async def test_a_refused_answer_leaves_the_request_open(self, bench: Bench) -> None:
        await bench.start(asking())
        session = bench.session()
        asked = await park(session)
        for bad in ("yes", 1, None, [True], {"value": True}):
            with pytest.raises(InvalidInputError):
                await session.resume(asked.turn_id, asked.id, bad)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match="2,000"):
            await session.resume(asked.turn_id, asked.id, True, reason="x" * 2001)
        assert await session.pending() == asked

    async def test_a_cancelled_request_can_no_longer_be_answered(self, bench: Bench) -> None:
        await bench.start(asking())
        session = bench.session()
        asked = await park(session)
        await session.cancel(asked.turn_id)
        with pytest.raises(AlreadyAnsweredError, match="cancelled"):
            await session.resume(asked.turn_id, asked.id, True)
        [told] = [e for e in await logged(bench, asked.turn_id) if isinstance(e, InputAnswered)]
        assert told.outcome == "cancelled"
        assert await outputs(session) == [{"cancelled": True}]


class TestWhoMayAnswer:
    async def test_a_named_user_and_nobody_else(self, bench: Bench) -> None:
        await bench.start(asking({"user": "slack:T1:U9"}))
        session = bench.session()
        asked = await park(session)
        for by in (None, "slack:T1:U1", "slack:T2:U9", "SLACK:T1:U9"):
            with pytest.raises(ResumeAuthorizationError):
                await session.resume(asked.turn_id, asked.id, True, by=by)
        assert (await answer(session, asked, True, by="slack:T1:U9")).status == "completed"

    async def test_a_policy_needs_a_grant_and_a_user_is_not_served_by_one(
        self, bench: Bench
    ) -> None:
        hook = Hook("slack:T1:U9")
        await bench.start(asking({"policy": "refunds", "scope": "eu"}, hook))
        session = bench.session()
        asked = await park(session)
        with pytest.raises(ResumeAuthorizationError):
            await session.resume(asked.turn_id, asked.id, True, by="slack:T1:U9")
        assert await session.grant(asked.id, by="slack:T1:U1") is None
        grant = await session.grant(asked.id, by="slack:T1:U9")
        assert grant is not None
        for bad in (
            replace(grant, policy="other"),
            replace(grant, scope="us"),
            replace(grant, scope=None),
            replace(grant, request="0"),
            replace(grant, issuer=object()),
            replace(grant, by="slack:T1:U1"),
        ):
            with pytest.raises(ResumeAuthorizationError):
                await session.resume(asked.turn_id, asked.id, True, by="slack:T1:U9", granted=bad)
        with pytest.raises(ResumeAuthorizationError):
            await session.resume(asked.turn_id, asked.id, True, by="slack:T1:U1", granted=grant)
        result = await answer(session, asked, True, by="slack:T1:U9", granted=grant)
        assert result.status == "completed"
        shown = hook.shown[-1]
        assert (shown["policy"], shown["scope"]) == ("refunds", "eu")
        assert (shown["request"].tool, shown["request"].digest) == ("work", asked.digest)

    async def test_a_grant_is_for_one_request_however_equal_the_next(self, bench: Bench) -> None:
        await bench.start(asking({"policy": "refunds"}, Hook("slack:T1:U9")))
        session = bench.session()
        asked = await park(session)
        grant = await session.grant(asked.id, by="slack:T1:U9")
        await session.cancel(asked.turn_id)
        again = await park(session)
        assert (again.digest, again.id != asked.id) == (asked.digest, True)
        with pytest.raises(ResumeAuthorizationError):
            await session.resume(again.turn_id, again.id, True, by="slack:T1:U9", granted=grant)

    async def test_a_grant_never_answers_for_a_user(self, bench: Bench) -> None:
        await bench.start(asking({"user": "slack:T1:U9"}, Hook("slack:T1:U1")))
        session = bench.session()
        asked = await park(session)
        assert await session.grant(asked.id, by="slack:T1:U1") is None

    async def test_a_hook_that_raises_applies_nothing_and_can_be_tried_again(
        self, bench: Bench
    ) -> None:
        hook = Hook("slack:T1:U9")
        await bench.start(asking({"policy": "refunds"}, hook))
        session = bench.session()
        asked = await park(session)
        hook.broken = True
        with pytest.raises(AuthorizeHookError) as failed:
            await session.grant(asked.id, by="slack:T1:U9")
        assert failed.value.status == 500
        assert await session.pending() == asked
        hook.broken = False
        assert await vote(session, asked, "slack:T1:U9")

    async def test_a_quorum_counts_persons_once_each(self, bench: Bench) -> None:
        people = [f"slack:T1:U{n}" for n in range(9)]
        await bench.start(asking({"policy": "refunds", "quorum": 3}, Hook(*people)))
        session = bench.session()
        asked = await park(session)
        for _ in range(3):
            assert not await vote(session, asked, people[0])
        assert not await vote(session, asked, people[1])
        voted = [e for e in await logged(bench, asked.turn_id) if isinstance(e, InputVoted)]
        assert [(e.by, e.votes, e.quorum) for e in voted] == [
            (people[0], 1, 3),
            (people[1], 2, 3),
        ]
        pending = await session.pending()
        assert pending is not None
        assert pending.votes == 2
        assert await vote(session, asked, people[2])
        assert (await soon(session.result(asked.turn_id))).status == "completed"

    async def test_a_changed_vote_counts_as_it_stands_now(self, bench: Bench) -> None:
        people = [f"slack:T1:U{n}" for n in range(4)]
        agent = asking({"policy": "p", "quorum": 2}, Hook(*people), schema=str)
        await bench.start(agent)
        session = bench.session()
        asked = await park(session)
        assert not await vote(session, asked, people[0], "red")
        assert not await vote(session, asked, people[0], "blue")
        assert not await vote(session, asked, people[1], "red")
        assert await vote(session, asked, people[2], "blue")

    async def test_identities_that_are_not_linked_never_add_up(self, bench: Bench) -> None:
        people = ["slack:T1:U1", "email:ada@example.org", "slack:T1:U2"]
        await bench.start(asking({"policy": "refunds", "quorum": 2}, Hook(*people)))
        session = bench.session()
        asked = await park(session)
        assert not await vote(session, asked, people[0])
        assert not await vote(session, asked, people[1])
        assert await vote(session, asked, people[2])

    async def test_one_deny_decides(self, bench: Bench) -> None:
        people = ["slack:T1:U1", "slack:T1:U2"]
        await bench.start(asking({"policy": "refunds", "quorum": 2}, Hook(*people)))
        session = bench.session()
        asked = await park(session)
        assert not await vote(session, asked, people[0])
        assert await vote(session, asked, people[1], value=False)
        await soon(session.result(asked.turn_id))
        assert (await outputs(session))[0] == {"got": False, "outcome": "denied", "by": people[1]}

    async def test_the_requester_may_not_decide_where_that_is_asked_for(self, bench: Bench) -> None:
        people = [SLACK.id, OTHER.id, "email:ada@example.org", "slack:T1:U7"]
        answerers = {"policy": "refunds", "not_requester": True}
        await bench.start(asking(answerers, Hook(*people)))
        session = bench.session()
        speaker = replace(SLACK, linked=(SLACK.id, "slack:T1:U7"))
        asked = await park(session, speaker=speaker, event=REQUEST)
        for by in (SLACK.id, "slack:T1:U7", "email:ada@example.org"):
            with pytest.raises(ResumeAuthorizationError):
                await vote(session, asked, by)
        assert await vote(session, asked, OTHER.id)
