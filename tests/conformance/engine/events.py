"""Events: what is told, in what order, and that a reader misses nothing and sees nothing twice."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from decimal import Decimal

import pytest
from typing_extensions import override

from gateway.engine import events as ev
from gateway.engine.errors import NotFoundError
from gateway.engine.kinds import SessionRef
from gateway.engine.loop.observing import ReaderCut
from gateway.engine.messages import Reasoning, Text, ToolCall
from gateway.engine.model import ModelReply, Usage
from gateway.engine.outcomes import TurnInput
from gateway.engine.session import Session
from gateway.engine.tool import tool
from gateway.models.scripted import ScriptedModel
from gateway.sinks.local import LocalSink
from tests.conformance.engine.cast import ask
from tests.conformance.engine.kit import (
    SLACK,
    Bench,
    Hold,
    answer,
    june,
    kinds,
    logged,
    once,
    park,
    run,
    say,
    soon,
    until,
)
from tests.support.turns import calls, replies


@tool
async def fail() -> None:
    raise ValueError("on purpose")


PRICED = Usage(model="m", input=10, output=5, cache_read=3, cache_write=2, cost=Decimal("0.01"))
SCRIPT = [
    ModelReply(
        (
            Reasoning("hmm", {"type": "thinking"}),
            Text("Let me see."),
            ToolCall("c1", "ask", {}),
            ToolCall("c2", "fail", {}),
        ),
        usage=PRICED,
    ),
    ModelReply((Text("All done."),), usage=PRICED),
]


async def watch(session: Session, turn_id: str, after: int = 0) -> list[ev.TurnEvent]:
    async def collect() -> list[ev.TurnEvent]:
        return [event async for event in session.observe(turn_id, after=after)]

    return await soon(collect())


async def told(bench: Bench) -> str:
    """A turn that tells of nearly everything; its id."""
    await bench.start(june(ask, fail, script=SCRIPT))
    asked = await park(bench.session(), speaker=SLACK, source="slack", event={"ts": "1"})
    await answer(bench.session(), asked, True, by=SLACK.id)
    return asked.turn_id


class TestEvents:
    async def test_the_durable_events_of_a_turn_in_order(self, bench: Bench) -> None:
        turn_id = await told(bench)
        assert await kinds(bench, turn_id) == [
            "turn.started",
            "reasoning.completed",
            "message.completed",
            "action.requested",
            "action.requested",
            "usage",
            "input.requested",
            "input.answered",
            "turn.started",
            "action.completed",
            "action.completed",
            "message.completed",
            "usage",
            "turn.completed",
        ]

    async def test_they_carry_what_the_table_says(self, bench: Bench) -> None:
        turn_id = await told(bench)
        events = await logged(bench, turn_id)
        assert all((e.turn_id, e.session) == (turn_id, "s") and e.at > 0 for e in events)
        first, again = [e for e in events if isinstance(e, ev.TurnStarted)]
        assert (first.trigger, first.by, again.trigger) == ("inbound", SLACK.id, "resume")
        [thought] = [e for e in events if isinstance(e, ev.ReasoningCompleted)]
        assert thought.text == "hmm"
        said = [e.text for e in events if isinstance(e, ev.MessageCompleted)]
        assert said == ["Let me see.", "All done."]
        asked = [e.call for e in events if isinstance(e, ev.ActionRequested)]
        assert [(c.id, c.name, c.input) for c in asked] == [("c1", "ask", {}), ("c2", "fail", {})]
        ok, bad = [e for e in events if isinstance(e, ev.ActionCompleted)]
        assert (ok.call_id, ok.name, ok.result, ok.error) == ("c1", "ask", "true", None)
        assert (bad.call_id, bad.error) == ("c2", "ValueError: on purpose")
        usage = [e.usage for e in events if isinstance(e, ev.UsageEvent)]
        assert [
            (u.model, u.input, u.output, u.cache_read, u.cache_write, u.cost) for u in usage
        ] == [("m", 10, 5, 3, 2, Decimal("0.01"))] * 2
        assert usage[0].context == 20
        [end] = [e for e in events if isinstance(e, ev.TurnCompleted)]
        assert end.text == "All done."
        assert end.totals == {
            "input": 20,
            "output": 10,
            "cache_read": 6,
            "cache_write": 4,
            "cost": "0.02",
        }

    async def test_observe_from_every_cursor_equals_the_log(self, bench: Bench) -> None:
        turn_id = await told(bench)
        log = await logged(bench, turn_id)
        for cursor in range(len(log) + 1):
            assert await watch(bench.session(), turn_id, cursor) == log[cursor:]

    async def test_two_readers_see_the_same(self, bench: Bench) -> None:
        turn_id = await told(bench)
        async with asyncio.TaskGroup() as group:
            both = [group.create_task(watch(bench.session(), turn_id)) for _ in range(2)]
        assert both[0].result() == both[1].result() == await logged(bench, turn_id)

    async def test_a_reader_stays_over_a_park_and_misses_nothing(self, bench: Bench) -> None:
        await bench.start(june(ask, fail, script=SCRIPT))
        session = bench.session()
        asked = await park(session)
        seen: list[ev.TurnEvent] = []

        async def follow() -> None:
            async for event in session.observe(asked.turn_id):
                seen.append(event)  # noqa: PERF401 - one by one as they come

        async with asyncio.TaskGroup() as group:
            group.create_task(soon(follow()))
            await until(lambda: any(e.type == "input.requested" for e in seen))
            await session.resume(asked.turn_id, asked.id, True)
        assert [e for e in seen if e.seq] == await logged(bench, asked.turn_id)

    async def test_live_text_comes_before_it_is_committed_with_block_and_offset(
        self, bench: Bench
    ) -> None:
        await bench.start(june(script=say("one two three four")))
        session = bench.session()
        gate = await bench.start_and_hold(session)
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(watch(session, "t1"))
            await until(lambda: bench.runtime.sink.watched(session.ref))
            gate.go()
        seen = watching.result()
        deltas = [e for e in seen if isinstance(e, ev.MessageDeltaEvent)]
        assert "".join(e.text for e in deltas) == "one two three four"
        assert [e.offset for e in deltas] == [0, 4, 8, 14]
        assert {(e.block, e.seq) for e in deltas} == {(0, None)}
        assert max(seen.index(e) for e in deltas) < [e.type for e in seen].index(
            "message.completed"
        )
        assert not any(e.type == "message.delta" for e in await logged(bench, "t1"))

    async def test_a_turn_in_the_queue_says_where_it_stands(self, bench: Bench) -> None:
        hold = Hold()

        @tool
        async def work() -> None:
            await hold.here()

        await bench.start(june(work, script=once("work")))
        session = await bench.begin("1")
        await hold.wait()
        async with bench.runtime.sink.subscribe(session.ref, "t2") as live:
            await session.start(TurnInput(message="2", turn_id="t2"))
            event = await live.next(5)
        assert isinstance(event, ev.TurnQueued)
        assert event.position == 1
        hold.go()
        await soon(session.result("t2"))

    async def test_a_replay_tells_nothing_twice_and_streams_no_cached_text(
        self, bench: Bench
    ) -> None:
        bench.need_durable()
        hold = Hold()
        ran: list[int] = []

        @tool
        async def work() -> None:
            ran.append(1)
            if len(ran) == 1:
                await hold.here()

        agent = june(work, script=[calls(("work", {}), text="thinking about it"), say("done")])
        await bench.start(agent)
        await bench.begin()
        await hold.wait()
        await bench.kill()
        gate = bench.store.hold("begin")
        await bench.start(agent)
        await gate.wait()
        session = bench.session()
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(watch(session, "t1"))
            await until(lambda: bench.runtime.sink.watched(session.ref))
            gate.go()
        seen = watching.result()
        assert [e for e in seen if e.seq] == await logged(bench, "t1")
        live = "".join(e.text for e in seen if isinstance(e, ev.MessageDeltaEvent))
        assert live == "done"
        assert [e.type for e in seen].count("turn.started") == 1

    async def test_a_reader_too_slow_is_cut_and_goes_on_by_its_cursor(self, bench: Bench) -> None:
        model = ScriptedModel(replies(say("a b c d e f g h i j")), chunks=10)
        await bench.start(june(model=model), sink=LocalSink(frames=3))
        session = bench.session()
        gate = await bench.start_and_hold(session)
        seen: list[ev.TurnEvent] = []

        async def dawdle() -> None:
            async for event in session.observe("t1"):
                seen.append(event)
                if event.seq is None:  # live from here on: what the log holds is read in peace
                    await soon(session.result("t1"))

        async with asyncio.TaskGroup() as group:
            group.create_task(_cut(dawdle()))
            await until(lambda: bench.runtime.sink.watched(session.ref))
            gate.go()
        after = max((e.seq or 0 for e in seen), default=0)
        rest = await watch(session, "t1", after)
        assert [e for e in seen if e.seq] + rest == await logged(bench, "t1")

    async def test_a_lost_notice_is_made_up_for_from_the_log(self, bench: Bench) -> None:
        class Deaf(LocalSink):
            """Says nothing of what it is told."""

            @override
            async def publish(self, ref: SessionRef, events: Sequence[ev.TurnEvent]) -> None:
                return None

        await bench.start(june(script=say("hi")), sink=Deaf())
        bench.runtime.poll = 0.02
        session = bench.session()
        started = await session.start(TurnInput(message="go", turn_id="t1"))
        seen = await watch(session, started.turn_id)
        assert seen == await logged(bench, "t1")

    async def test_a_sink_that_fails_does_not_break_the_turn(self, bench: Bench) -> None:
        class Broken(LocalSink):
            @override
            async def publish(self, ref: SessionRef, events: Sequence[ev.TurnEvent]) -> None:
                raise RuntimeError("no broker")

        await bench.start(june(script=say("hi")), sink=Broken())
        assert (await run(bench.session())).text == "hi"

    async def test_what_breaks_before_its_commit_takes_no_number(self, bench: Bench) -> None:
        odd = ModelReply((ToolCall("c", "fail", {"x": float("nan")}),))
        await bench.start(june(fail, script=odd))
        result = await run(bench.session())
        assert result.status in {"failed", "completed"}
        await kinds(bench, result.turn_id)

    async def test_an_unknown_turn_has_no_events(self, bench: Bench) -> None:
        await bench.start(june())
        with pytest.raises(NotFoundError):
            await watch(bench.session(), "t1")

    async def test_readers_leave_nothing_behind(self, bench: Bench) -> None:
        turn_id = await told(bench)
        for cursor in (0, 3, 14):
            for _ in range(20):
                await watch(bench.session(), turn_id, cursor)
        assert not bench.runtime.sink.watched(bench.session().ref)


async def _cut(reading: Coroutine[object, object, None]) -> None:
    with pytest.raises(ReaderCut):
        await reading
