"""What a turn's event wants read before it begins: once, in front of its message, holding nobody up."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.engine.kinds import JsonObject, SessionRef, Trust
from gateway.engine.limits import Limits
from gateway.engine.loop import reading
from gateway.engine.messages import Message, Text
from gateway.engine.outcomes import TurnInput
from gateway.engine.ports import Prepared, Preparing
from gateway.engine.session import Session
from tests.conformance.engine.cast import Slow, ask, echo
from tests.conformance.engine.kit import (
    SLACK,
    Bench,
    Hold,
    answer,
    june,
    kinds,
    once,
    say,
    soon,
    until,
)

FETCH: JsonObject = {"channel": "C1", "root": "1.2"}
LOST = "[The earlier conversation could not be read.]"


class Thread:
    """A platform that is asked what was said before, and can be slow or broken."""

    def __init__(self, said: str = "earlier", trust: Trust | None = None) -> None:
        self.found = Prepared(before=(Text(said),), trust=trust)
        self.asked: list[Preparing] = []
        self.hold: Hold | None = None
        self.broken = False
        self.cut = False

    async def prepare(self, asked: Preparing) -> Prepared:
        self.asked.append(asked)
        try:
            if self.hold is not None:
                await self.hold.here()
        except BaseException:
            self.cut = True
            raise
        if self.broken:
            raise RuntimeError("the platform is away")
        return self.found


def wanting(turn_id: str = "t1", message: str = "go", **more: Any) -> TurnInput:
    given: dict[str, Any] = {"speaker": SLACK, "source": "slack", "event": {"fetch": FETCH}}
    return TurnInput(message=message, turn_id=turn_id, **(given | more))


async def opening(session: Session, number: int = 0) -> Message:
    return [one for one in await session.transcript() if one.role == "user"][number]


async def said(session: Session, number: int = 0) -> list[str]:
    """The texts of an opening message."""
    blocks = (await opening(session, number)).blocks
    return [block.text for block in blocks if isinstance(block, Text)]


class TestPreparing:
    @pytest.fixture
    def patient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Reading may take for ever: what ends it is what the test does."""
        monkeypatch.setattr(reading, "PREPARE_SECONDS", 3600.0)

    async def test_it_stands_in_front_of_the_message(self, bench: Bench) -> None:
        thread = Thread()
        await bench.start(june(script=echo), preparers={"slack": thread})
        session = bench.session()
        await session.start(wanting())
        assert (await soon(session.result("t1"))).status == "completed"
        assert await said(session) == ["earlier", "go"]
        assert (await opening(session)).trust == "attested"
        (asked,) = thread.asked
        assert asked == Preparing(
            ref=SessionRef("june", "s"),
            turn_id="t1",
            event={"fetch": FETCH},
            fetch=FETCH,
            first=True,
        )
        assert (await kinds(bench, "t1"))[0] == "turn.started"

    async def test_the_turn_is_the_same_one_when_it_is_sent_again(self, bench: Bench) -> None:
        thread = Thread()
        await bench.start(june(script=echo), preparers={"slack": thread})
        session = bench.session()
        await session.start(wanting())
        await soon(session.result("t1"))
        assert not (await session.start(wanting())).created
        assert len(thread.asked) == 1

    @pytest.mark.parametrize(
        ("found", "own", "trust"),
        [
            ("unattested", None, "unattested"),
            ("attested", "operator", "attested"),
            ("operator", "unattested", "unattested"),
            (None, "operator", "operator"),
        ],
    )
    async def test_the_message_is_trusted_no_more_than_what_stands_before_it(
        self, bench: Bench, found: Trust | None, own: Trust | None, trust: Trust
    ) -> None:
        await bench.start(june(script=echo), preparers={"slack": Thread(trust=found)})
        session = bench.session()
        await session.start(wanting(trust=own))
        await soon(session.result("t1"))
        assert (await opening(session)).trust == trust

    @pytest.mark.parametrize(
        "given",
        [{"source": "web"}, {"event": {"fetch": None}}, {"event": {"ts": "1"}}, {"event": None}],
        ids=["another source", "nothing", "no word of it", "no event"],
    )
    async def test_nobody_is_asked_for_nothing(self, bench: Bench, given: dict[str, Any]) -> None:
        thread = Thread()
        await bench.start(june(script=echo), preparers={"slack": thread})
        session = bench.session()
        await session.start(wanting(**given))
        await soon(session.result("t1"))
        assert thread.asked == []
        assert await said(session) == ["go"]

    async def test_only_a_session_without_messages_is_new(self, bench: Bench) -> None:
        thread = Thread()
        await bench.start(june(script=echo), preparers={"slack": thread})
        session = bench.session()
        for turn_id in ("t1", "t2"):
            await session.start(wanting(turn_id))
            await soon(session.result(turn_id))
        await session.reset()
        await session.start(wanting("t3"))
        await soon(session.result("t3"))
        assert [asked.first for asked in thread.asked] == [True, False, False]

    async def test_what_breaks_is_said_to_the_model(self, bench: Bench) -> None:
        thread = Thread()
        thread.broken = True
        await bench.start(june(script=echo), preparers={"slack": thread})
        session = bench.session()
        await session.start(wanting())
        assert (await soon(session.result("t1"))).status == "completed"
        assert await said(session) == [LOST, "go"]

    async def test_what_takes_too_long_is_said_to_the_model(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(reading, "PREPARE_SECONDS", 0.05)
        thread = Thread()
        thread.hold = Hold()
        await bench.start(june(script=echo), preparers={"slack": thread})
        session = bench.session()
        await session.start(wanting())
        assert (await soon(session.result("t1"))).status == "completed"
        assert await said(session) == [LOST, "go"]
        await until(lambda: thread.cut)

    async def test_it_is_read_again_only_while_the_message_isn_t_kept(self, bench: Bench) -> None:
        bench.need_durable()
        thread, model = Thread(), Slow()
        thread.hold = Hold()
        await bench.start(june(script=model), preparers={"slack": thread})
        await bench.session().start(wanting())
        await thread.hold.wait()
        await bench.kill()
        thread.hold = None
        for _ in range(2):
            await bench.start(preparers={"slack": thread})
            await model.wait()
            await bench.kill()
        model.free.set()
        await bench.start(preparers={"slack": thread})
        assert (await soon(bench.session().result("t1"))).status == "completed"
        assert len(thread.asked) == 2
        assert await said(bench.session()) == ["earlier", "go"]

    async def test_it_isn_t_read_again_after_a_park(self, bench: Bench) -> None:
        thread = Thread()
        await bench.start(june(ask, script=once("ask")), preparers={"slack": thread})
        session = bench.session()
        await session.start(wanting())
        asked = (await soon(session.result("t1"))).request
        assert asked is not None
        assert (await answer(session, asked, True, by=SLACK.id)).status == "completed"
        assert len(thread.asked) == 1

    async def test_a_store_that_is_away_meanwhile_costs_no_second_read(self, bench: Bench) -> None:
        thread = Thread()
        thread.hold = Hold()
        await bench.start(june(script=echo), preparers={"slack": thread})
        session = bench.session()
        await session.start(wanting())
        await thread.hold.wait()
        bench.store.down = True
        thread.hold.go()
        await until(lambda: bench.runtime.problem is not None)
        bench.store.down = False
        assert (await soon(session.result("t1"))).status == "completed"
        assert len(thread.asked) == 1
        assert await said(session) == ["earlier", "go"]

    async def test_others_run_meanwhile_although_there_is_one_place(self, bench: Bench) -> None:
        thread = Thread()
        thread.hold = Hold()
        limits = Limits(running_turns=1)
        await bench.start(june(script=echo), preparers={"slack": thread}, limits=limits)
        slow, other = bench.session(), bench.session("other")
        await slow.start(wanting())
        await thread.hold.wait()
        await other.start(TurnInput(message="hi", turn_id="t2"))
        assert (await soon(other.result("t2"))).text == "re: hi"
        thread.hold.go()
        assert (await soon(slow.result("t1"))).status == "completed"

    async def test_a_cancel_meanwhile_ends_it_and_the_reading(
        self, bench: Bench, patient: None
    ) -> None:
        del patient
        thread = Thread()
        thread.hold = Hold()
        await bench.start(june(script=lambda _: say("hm")), preparers={"slack": thread})
        session = bench.session()
        await session.start(wanting())
        await thread.hold.wait()
        await session.cancel("t1")
        assert (await soon(session.result("t1"))).status == "cancelled"
        await until(lambda: thread.cut)
        assert await session.transcript() == []
        thread.hold = None
        await session.start(wanting("t2", "again"))
        assert (await soon(session.result("t2"))).status == "completed"
        assert await said(session) == ["earlier", "again"]
        assert [asked.first for asked in thread.asked] == [True, True]

    async def test_a_newer_message_takes_its_place_meanwhile(
        self, bench: Bench, patient: None
    ) -> None:
        del patient
        thread = Thread()
        thread.hold = Hold()
        await bench.start(june(script=echo), preparers={"slack": thread})
        session = bench.session()
        await session.start(wanting())
        await thread.hold.wait()
        thread.hold = None
        await session.start(wanting("t2", "no, this"), replace=True)
        assert (await soon(session.result("t2"))).status == "completed"
        assert (await soon(session.result("t1"))).error == {"reason": "replaced"}
        assert await said(session) == ["earlier", "no, this"]

    async def test_a_turn_behind_another_reads_when_it_is_its_turn(self, bench: Bench) -> None:
        thread, model = Thread(), Slow()
        await bench.start(june(script=model), preparers={"slack": thread})
        session = await bench.begin("1", "t0")
        await model.wait()
        await session.start(wanting())
        assert thread.asked == []
        model.free.set()
        await soon(session.result("t1"))
        assert [asked.first for asked in thread.asked] == [False]
        assert await said(session, 1) == ["earlier", "go"]

    async def test_a_deploy_meanwhile_leaves_the_turn_to_the_next_process(
        self, bench: Bench
    ) -> None:
        bench.need_durable()
        thread = Thread()
        thread.hold = Hold()
        await bench.start(june(script=echo), preparers={"slack": thread})
        await bench.session().start(wanting())
        await thread.hold.wait()
        async with asyncio.TaskGroup() as group:
            group.create_task(bench.drain())
            await until(lambda: bench.runtime.draining)
            thread.hold.go()
        record = await bench.store.turn(SessionRef("june", "s"), "t1")
        assert record is not None
        assert (record.state, record.opening) == ("queued", None)
        thread.hold = None
        await bench.start(preparers={"slack": thread})
        assert (await soon(bench.session().result("t1"))).status == "completed"
        assert await said(bench.session()) == ["earlier", "go"]
