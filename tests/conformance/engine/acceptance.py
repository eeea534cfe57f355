"""Accepting a turn: what was acknowledged is never lost, and nothing runs twice."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from gateway.engine.errors import (
    BusyError,
    DuplicateClaimError,
    InvalidInputError,
    NotFoundError,
    SessionSuspendedError,
    TooLargeError,
    TurnIdConflict,
)
from gateway.engine.kinds import Millis
from gateway.engine.limits import Limits
from gateway.engine.model import ModelReply, ModelRequest
from gateway.engine.outcomes import TurnInput
from gateway.engine.records import NEW_TURN, Claim
from tests.conformance.engine.cast import ask, echo
from tests.conformance.engine.kit import (
    OTHER,
    SLACK,
    Bench,
    Hands,
    Hold,
    answer,
    june,
    kinds,
    once,
    park,
    run,
    say,
    soon,
    texts,
    until,
)


class TestAcceptance:
    async def test_a_turn_is_committed_before_start_returns(self, bench: Bench) -> None:
        bench.need_durable()
        model = Hold()

        async def slow(_: ModelRequest) -> ModelReply:
            await model.here()
            return say("late")

        await bench.start(june(script=slow))
        started = await bench.session().start(TurnInput(message="hello"))
        await bench.kill()
        await bench.start(june(script=echo))
        result = await soon(bench.session().result(started.turn_id))
        assert (result.status, result.text) == ("completed", "re: hello")

    async def test_the_second_of_two_at_once_waits_for_the_first_alone(self, bench: Bench) -> None:
        """And not for what looks once a second after turns that nobody runs."""
        await bench.start(june(script=echo), clock=Hands().clock)  # that second never passes
        for n in range(10):
            session = bench.session(f"both-{n}")
            async with asyncio.TaskGroup() as tasks:
                for name in ("a", "b"):
                    given = TurnInput(message=name, turn_id=name)
                    tasks.create_task(session.start(given))
            for name in ("a", "b"):
                assert (await soon(session.result(name))).text == f"re: {name}"

    async def test_the_same_id_with_the_same_content_is_the_same_turn(self, bench: Bench) -> None:
        await bench.start(june(script=echo))
        given = TurnInput(message="hello", turn_id="t1")
        first = await bench.session().start(given)
        again = await bench.session().start(given)
        assert (first.created, again.created) == (True, False)
        await soon(bench.session().result("t1"))
        late = await bench.session().start(given)
        assert not late.created
        assert (await soon(bench.session().result("t1"))).text == "re: hello"
        assert await texts(bench.session()) == [("user", "hello"), ("assistant", "re: hello")]
        assert (await kinds(bench, "t1")).count("turn.started") == 1

    async def test_many_deliveries_at_once_are_one_turn(self, bench: Bench) -> None:
        await bench.start(june(script=echo))
        given = TurnInput(message="hello", turn_id="t1")
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(bench.session().start(given)) for _ in range(8)]
        assert sum(one.result().created for one in asked) == 1
        await soon(bench.session().result("t1"))
        assert len(await bench.session().transcript()) == 2

    async def test_the_same_id_with_other_content_is_refused(self, bench: Bench) -> None:
        await bench.start(june(script=echo))
        await run(bench.session(), "one", turn_id="t1")
        with pytest.raises(TurnIdConflict):
            await bench.begin("two")
        assert await texts(bench.session()) == [("user", "one"), ("assistant", "re: one")]

    async def test_the_same_id_from_another_speaker_is_refused(self, bench: Bench) -> None:
        await bench.start(june(script=echo))
        await run(bench.session(), "one", turn_id="t1", speaker=SLACK)
        for speaker in (OTHER, None):
            with pytest.raises(TurnIdConflict):
                await bench.session().start(TurnInput(message="one", turn_id="t1", speaker=speaker))

    async def test_a_person_who_changed_their_name_is_the_same_speaker(self, bench: Bench) -> None:
        await bench.start(june(script=echo))
        await run(bench.session(), "one", turn_id="t1", speaker=SLACK)
        renamed = replace(SLACK, name="Ada L.")
        again = await bench.session().start(TurnInput(message="one", turn_id="t1", speaker=renamed))
        assert not again.created

    async def test_a_redelivery_after_a_reset_never_runs_in_the_next_generation(
        self, bench: Bench
    ) -> None:
        await bench.start(june(script=echo))
        await run(bench.session(), "one", turn_id="t1")
        await bench.session().reset()
        again = await bench.session().start(TurnInput(message="one", turn_id="t1"))
        assert not again.created
        assert (await soon(bench.session().result("t1"))).text == "re: one"
        assert await texts(bench.session()) == []

    async def test_turns_run_one_at_a_time_in_order_of_acceptance(self, bench: Bench) -> None:
        running, most = 0, 0

        async def reply(request: ModelRequest) -> ModelReply:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1
            return say(f"re: {request.text}")

        await bench.start(june(script=reply))
        session = bench.session()
        ids = [(await session.start(TurnInput(message=str(n)))).turn_id for n in range(5)]
        for turn_id in ids:
            await soon(session.result(turn_id))
        said = [text for role, text in await texts(session) if role == "user"]
        assert (said, most) == (["0", "1", "2", "3", "4"], 1)

    async def test_sessions_run_beside_each_other(self, bench: Bench) -> None:
        both = asyncio.Barrier(2)

        async def reply(_: ModelRequest) -> ModelReply:
            await both.wait()
            return say("met")

        await bench.start(june(script=reply))
        async with asyncio.TaskGroup() as group:
            one = group.create_task(run(bench.session("a")))
            two = group.create_task(run(bench.session("b")))
        assert {one.result().text, two.result().text} == {"met"}

    async def test_a_suspended_session_refuses_another_turn(self, bench: Bench) -> None:
        await bench.start(june(ask, script=once("ask")))
        await park(bench.session())
        with pytest.raises(SessionSuspendedError):
            await bench.begin("more", "t2")
        with pytest.raises(NotFoundError):
            await bench.session().snapshot("t2")

    async def test_a_redelivery_of_the_parked_turn_itself_is_known(self, bench: Bench) -> None:
        await bench.start(june(ask, script=once("ask")))
        await park(bench.session(), turn_id="t1")
        again = await bench.session().start(TurnInput(message="go", turn_id="t1"))
        assert not again.created
        assert (await soon(bench.session().result("t1"))).status == "suspended"

    async def test_a_message_may_queue_behind_a_park_and_runs_after_it(self, bench: Bench) -> None:
        def script(request: ModelRequest) -> ModelReply:
            if request.text == "more":
                return say("re: more")
            given = sum(m.role == "assistant" for m in request.turn)
            return once("ask", end="asked")[given]

        await bench.start(june(ask, script=script))
        session = bench.session()
        asked = await park(session)
        queued = await session.start(
            TurnInput(message="more", turn_id="t2"), when_suspended="queue"
        )
        assert queued.position == 1
        assert (await session.snapshot("t2")).state == "queued"
        assert (await answer(session, asked, True)).text == "asked"
        assert (await soon(session.result("t2"))).text == "re: more"

    async def test_suspension_is_checked_before_anything_is_cancelled(self, bench: Bench) -> None:
        await bench.start(june(ask, script=once("ask")))
        session = bench.session()
        await park(session)
        await session.start(TurnInput(message="q", turn_id="q"), when_suspended="queue")
        with pytest.raises(SessionSuspendedError):
            await session.start(TurnInput(message="new"), replace=True)
        assert (await session.snapshot("q")).state == "queued"

    async def test_over_the_queue_limit_nothing_is_claimed(self, bench: Bench) -> None:
        model = Hold()

        async def slow(_: ModelRequest) -> ModelReply:
            await model.here()
            return say("late")

        await bench.start(june(script=slow), limits=Limits(queue_per_session=2))
        session = bench.session()
        first = await session.start(TurnInput(message="1"))
        await model.wait()
        for n in (2, 3):
            await session.start(TurnInput(message=str(n)))
        claim = Claim(key="k", turn=NEW_TURN, at=Millis(1), expires_at=Millis(10**15))
        given = TurnInput(message="4", turn_id="t4", companions=(claim,))
        with pytest.raises(BusyError) as refused:
            await session.start(given)
        assert refused.value.status == 429
        model.go()
        await soon(session.result(first.turn_id))
        await until(lambda: bench.stands("idle"))
        assert (await session.start(given)).created

    async def test_a_message_over_the_limit_is_refused(self, bench: Bench) -> None:
        await bench.start(june(), limits=Limits(message_bytes=2000))
        with pytest.raises(TooLargeError):
            await bench.session().start(TurnInput(message="é" * 1000, turn_id="t1"))
        with pytest.raises(NotFoundError):
            await bench.session().snapshot("t1")
        assert (await run(bench.session(), "x" * 1000)).status == "completed"

    @pytest.mark.parametrize("bad", ["", " x", "a\nb", "x" * 513, "\x00"])
    async def test_a_key_that_cannot_travel_is_refused(self, bench: Bench, bad: str) -> None:
        await bench.start(june())
        with pytest.raises(InvalidInputError):
            bench.session(bad)
        with pytest.raises(InvalidInputError):
            await bench.session().start(TurnInput(message="x", turn_id=bad))

    async def test_an_unknown_agent_or_turn_is_not_found(self, bench: Bench) -> None:
        await bench.start(june())
        with pytest.raises(NotFoundError):
            bench.runtime.session("who", "s")
        with pytest.raises(NotFoundError):
            await bench.session().result("t1")
        with pytest.raises(NotFoundError):
            await bench.session().cancel("t1")

    async def test_a_claim_commits_with_its_turn_or_not_at_all(self, bench: Bench) -> None:
        await bench.start(june())
        claim = Claim(key="k", turn=NEW_TURN, at=Millis(1), expires_at=Millis(10**15))
        await run(bench.session(), turn_id="t1", companions=(claim,))
        with pytest.raises(DuplicateClaimError):
            await bench.session().start(TurnInput(message="x", turn_id="t2", companions=(claim,)))
        with pytest.raises(NotFoundError):
            await bench.session().snapshot("t2")

    async def test_text_that_no_encoding_knows_is_mended_at_the_door(self, bench: Bench) -> None:
        await bench.start(june(script=echo))
        assert (await run(bench.session(), "a\ud800b")).text == "re: a?b"

    @pytest.mark.parametrize("name", ["event", "target"])
    @pytest.mark.parametrize("kind", ["object", "number", "deep"])
    async def test_what_can_t_be_kept_and_read_again_is_refused_at_the_door(
        self, bench: Bench, name: str, kind: str
    ) -> None:
        value: object = object() if kind == "object" else 10**5000 if kind == "number" else 1
        for _ in range(940 if kind == "deep" else 0):
            value = [value]
        await bench.start(june())
        with pytest.raises(InvalidInputError, match=name):
            await run(bench.session(), turn_id="t1", **{name: {"x": value}})  # type: ignore[arg-type]
        assert (await run(bench.session(), turn_id="t1")).status == "completed"

    async def test_a_draining_process_takes_no_new_turn(self, bench: Bench) -> None:
        await bench.start(june())
        await bench.runtime.stop()
        with pytest.raises(BusyError):
            await bench.session().start(TurnInput(message="x"))


class TestResults:
    async def test_turn_waits_for_the_answer(self, bench: Bench) -> None:
        await bench.start(june(script=echo))
        result = await soon(bench.session().turn(TurnInput(message="hi")))
        assert (result.status, result.text) == ("completed", "re: hi")

    async def test_turn_raises_when_the_turn_parks(self, bench: Bench) -> None:
        await bench.start(june(ask, script=once("ask")))
        with pytest.raises(SessionSuspendedError, match=r"Go on\?"):
            await soon(bench.session().turn(TurnInput(message="hi")))
        assert await bench.session().status() == "suspended"

    async def test_result_of_a_parked_turn_shows_the_request(self, bench: Bench) -> None:
        await bench.start(june(ask, script=once("ask")))
        asked = await park(bench.session())
        pending = await bench.session().pending()
        assert pending == asked
        assert (asked.tool, asked.prompt, asked.schema["type"]) == ("ask", "Go on?", "boolean")
        await answer(bench.session(), asked, False)
        assert await bench.session().pending() is None

    async def test_status_follows_the_session(self, bench: Bench) -> None:
        await bench.start(june(ask, script=once("ask")))
        session = bench.session()
        assert await session.status() == "new"
        asked = await park(session)
        assert await session.status() == "suspended"
        await answer(session, asked, True)
        await until(lambda: bench.stands("idle"))
        await session.reset()
        assert await session.status() == "new"

    async def test_a_snapshot_tells_where_the_turn_stands(self, bench: Bench) -> None:
        await bench.start(june(ask, script=once("ask", end="fine")))
        session = bench.session()
        asked = await park(session, turn_id="t1")
        parked = await session.snapshot("t1")
        assert (parked.state, parked.request) == ("suspended", asked)
        await answer(session, asked, True)
        done = await session.snapshot("t1")
        assert (done.state, done.text, done.request, done.error) == (
            "completed",
            "fine",
            None,
            None,
        )
        assert done.last_seq == len(await kinds(bench, "t1"))
        assert done.usage["calls"] == 2
        assert done.queued_at <= (done.started_at or 0) <= (done.ended_at or 0)

    async def test_two_waiters_get_the_same_result(self, bench: Bench) -> None:
        await bench.start(june(script=echo))
        started = await bench.session().start(TurnInput(message="hi"))
        async with asyncio.TaskGroup() as group:
            waits = [
                group.create_task(soon(bench.session().result(started.turn_id))) for _ in range(3)
            ]
        assert {wait.result().text for wait in waits} == {"re: hi"}

    async def test_a_session_that_sleeps_costs_no_model_call(self, bench: Bench) -> None:
        asked = 0

        def count(_: ModelRequest) -> ModelReply:
            nonlocal asked
            asked += 1
            return say("x")

        await bench.start(june(script=count))
        await run(bench.session())
        await soon(
            bench.session().result(
                (await bench.session().start(TurnInput(message="again", turn_id="t2"))).turn_id
            )
        )
        assert asked == 2
