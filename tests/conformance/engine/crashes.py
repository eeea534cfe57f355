"""Death of the process, deploys, a store that is away: the turn comes back by itself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.engine.agent import AgentDef
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.events import TurnFailed
from gateway.engine.kinds import SessionRef
from gateway.engine.model import ModelReply, ModelRequest
from gateway.engine.outcomes import TurnInput
from gateway.engine.records import TurnRecord
from gateway.engine.steps.context import ToolContext
from gateway.engine.tool import tool
from tests.conformance.engine.kit import (
    Bench,
    Hands,
    Hold,
    audits,
    june,
    kinds,
    logged,
    no_orphans,
    once,
    outputs,
    run,
    say,
    soon,
    texts,
    until,
)
from tests.support.turns import calls


class Killer:
    """A tool in which the process dies, as often as the test says."""

    def __init__(self) -> None:
        self.holds: asyncio.Queue[int] = asyncio.Queue()
        self.runs = 0
        self.deadly = True

    def agent(self, script: object = None) -> AgentDef:
        @tool
        async def deadly(ctx: ToolContext) -> str:
            self.runs += 1
            if self.deadly:
                self.holds.put_nowait(ctx.attempt)
                await asyncio.Event().wait()
            return "survived"

        def by_text(request: ModelRequest) -> ModelReply:
            if request.messages[-1].role == "tool" or request.text != "die":
                return say(f"re: {request.text}")
            return calls(("deadly", {}))

        return june(deadly, script=script or by_text)  # type: ignore[arg-type]

    async def wait(self) -> int:
        return await soon(self.holds.get())

    async def strike(self, bench: Bench, *, script: object = None, **more: Any) -> None:
        """The process dies in turn ``t1``, which ran alone in it."""
        await bench.start(self.agent(script), **more)
        await bench.begin("die")
        await self.wait()
        await bench.kill()


async def record(bench: Bench, turn_id: str, key: str = "s") -> TurnRecord:
    found = await bench.store.turn(SessionRef("june", key), turn_id)
    assert found is not None
    return found


class TestCrashes:
    async def test_an_unfinished_turn_goes_on_without_anyone_asking(self, bench: Bench) -> None:
        killer = Killer()
        await killer.strike(bench)
        killer.deadly = False
        await bench.start()
        await until(lambda: _ended(bench, "t1"))
        assert await outputs(bench.session()) == ["survived"]
        assert (await kinds(bench, "t1")).count("turn.started") == 1

    async def test_only_looking_at_it_makes_nothing_stick(self, bench: Bench) -> None:
        """The turn's state is told from what is stored, whoever reads, before anything runs."""
        killer = Killer()
        await killer.strike(bench)
        killer.deadly = False
        await bench.start()
        assert (await soon(bench.session().result("t1"))).status == "completed"

    async def test_a_turn_that_kills_the_process_alone_three_times_fails(
        self, bench: Bench
    ) -> None:
        killer = Killer()
        told: list[object] = []
        agent = killer.agent()
        agent = june(
            *agent.tools.values(),
            script=once("deadly"),
            on_turn_error=lambda error: told.append((error.phase, error.step)),
        )
        await bench.start(agent)
        await bench.begin("die")
        for attempt in (1, 2, 3):
            assert await killer.wait() == attempt
            await bench.kill()
            await bench.start()
        result = await soon(bench.session().result("t1"))
        assert result.status == "failed"
        assert result.error is not None
        assert (result.error["phase"], result.error["step"]) == ("tool", "tool:1:call_1_0")
        assert killer.runs == 3
        no_orphans(await bench.session().transcript())
        [lost] = await outputs(bench.session())
        assert isinstance(lost, dict)
        assert "outcome unknown" in str(lost["error"])
        assert len(str(lost["idempotency_key"])) == 32
        last = (await logged(bench, "t1"))[-1]
        assert isinstance(last, TurnFailed)
        assert (last.phase, last.step) == ("tool", "tool:1:call_1_0")
        assert told == [("tool", "tool:1:call_1_0")]
        assert await audits(bench) == [("outcome_unknown", "t1", "tool:1:call_1_0", "unknown")]
        killer.deadly = False
        assert (await run(bench.session(), "hello")).status == "completed"

    async def test_bystanders_are_not_to_blame(self, bench: Bench) -> None:
        killer = Killer()
        waiting: asyncio.Queue[str] = asyncio.Queue()
        free = asyncio.Event()

        async def script(request: ModelRequest) -> ModelReply:
            if request.text == "die":
                return calls(("deadly", {}))
            waiting.put_nowait(request.session)
            await free.wait()
            return say("fine")

        await bench.start(killer.agent(script))
        await bench.begin("wait", "by", key="by")
        await soon(waiting.get())
        await bench.begin("die")
        crashes = 0
        while True:
            died = asyncio.ensure_future(killer.wait())  # noqa: TID251
            ended = asyncio.ensure_future(until(lambda: _ended(bench, "t1")))  # noqa: TID251
            await asyncio.wait({died, ended}, return_when=asyncio.FIRST_COMPLETED)
            for one in (died, ended):
                one.cancel()
            await asyncio.wait({died, ended})
            if await _ended(bench, "t1"):
                break
            crashes += 1
            assert crashes < 8
            if crashes == 2:  # by now both are suspects, and each gets the process to itself
                free.set()
            await bench.kill()
            await bench.start()
        assert (await soon(bench.session().result("t1"))).status == "failed"
        assert (await soon(bench.session("by").result("by"))).text == "fine"

    async def test_a_suspect_that_only_lingers_holds_the_others_up_for_seconds(
        self, bench: Bench
    ) -> None:
        killer, hands = Killer(), Hands()
        await killer.strike(bench, clock=hands.clock)
        await bench.start(clock=hands.clock)
        await killer.wait()
        assert (await record(bench, "t1")).alone
        other = bench.session("other")
        await other.start(TurnInput(message="hello", turn_id="t2"))
        await until(lambda: bench.runtime.queued() == 1)
        hands.forward(4)
        await asyncio.sleep(0.05)
        assert bench.runtime.queued() == 1
        hands.forward(2)
        assert (await soon(other.result("t2"))).text == "re: hello"
        assert not (await record(bench, "t1")).alone

    async def test_what_dies_beside_others_is_not_counted_as_alone(self, bench: Bench) -> None:
        killer, hands = Killer(), Hands()
        await killer.strike(bench, clock=hands.clock)
        await bench.start(clock=hands.clock)
        await killer.wait()
        await bench.begin("die", "t2", key="other")
        hands.forward(6)
        await killer.wait()
        await bench.kill()
        await bench.start(clock=hands.clock)
        await killer.wait()
        found = [await record(bench, "t1"), await record(bench, "t2", "other")]
        assert [(one.crashes, one.suspect) for one in found] == [(1, 1), (0, 1)]

    async def test_a_new_checkpoint_clears_the_blame(self, bench: Bench) -> None:
        ran: list[int] = []
        reached: asyncio.Queue[int] = asyncio.Queue()

        @tool
        async def step(n: int) -> int:
            ran.append(n)
            if ran.count(n) == 1:
                reached.put_nowait(n)
                await asyncio.Event().wait()
            return n

        def script(request: ModelRequest) -> ModelReply:
            given = sum(m.role == "assistant" for m in request.turn)
            return calls(("step", {"n": given})) if given < 6 else say("done")

        await bench.start(june(step, script=script))
        await bench.begin()
        for n in range(6):
            assert await soon(reached.get()) == n
            await bench.kill()
            await bench.start()
        assert (await soon(bench.session().result("t1"))).status == "completed"
        assert [ran.count(n) for n in range(6)] == [2] * 6
        assert not (await record(bench, "t1")).alone

    async def test_an_attempt_that_crashed_counts_toward_the_ceiling_up_to_its_last_write(
        self, bench: Bench
    ) -> None:
        hands, hold = Hands(), Hold()
        reached: asyncio.Queue[int] = asyncio.Queue()

        @tool(timeout=9000)
        async def step(n: int) -> int:
            if n == 0:
                hands.forward(2000)
            elif reached.empty():
                reached.put_nowait(n)
                await asyncio.Event().wait()
            else:
                await hold.here()
            return n

        def script(request: ModelRequest) -> ModelReply:
            given = sum(m.role == "assistant" for m in request.turn)
            return calls(("step", {"n": given})) if given < 3 else say("done")

        await bench.start(june(step, script=script), clock=hands.clock)
        await bench.begin()
        await until(lambda: not reached.empty())
        await bench.kill()
        hands.forward(86_400)
        await bench.start(clock=hands.clock)
        await hold.wait()
        assert (await record(bench, "t1")).ran == 2_000_000
        hands.forward(2000)
        attempt = bench.attempt
        await until(lambda: attempt._stop is not None)
        hold.go()
        result = await soon(bench.session().result("t1"))
        assert (result.status, result.error) == ("timed_out", {"deadline": "ceiling"})

    async def test_a_deploy_does_not_count(self, bench: Bench) -> None:
        killer = Killer()
        await bench.start(killer.agent())
        await bench.begin("die")
        for _ in range(2):
            await killer.wait()
            await bench.drain(grace=0.05)
            assert (await record(bench, "t1")).crashes == 0
            await bench.start()
        await killer.wait()
        killer.deadly = False
        await bench.drain(grace=0.05)
        await bench.start()
        assert (await soon(bench.session().result("t1"))).status == "completed"

    async def test_a_drain_lets_the_running_call_finish_and_leaves_the_next(
        self, bench: Bench
    ) -> None:
        hold = Hold()
        ran: list[str] = []

        @tool
        async def work(name: str) -> str:
            ran.append(name)
            await hold.here()
            return name

        script = [calls(("work", {"name": "a"}), ("work", {"name": "b"})), say("done")]
        await bench.start(june(work, script=script))
        await bench.begin()
        await hold.wait()
        old = bench.runtime
        stopping = asyncio.ensure_future(old.stop(grace=10))  # noqa: TID251
        await until(lambda: old.draining)
        hold.go()
        await soon(stopping)
        assert ran == ["a"]
        bench.need_durable()
        await bench._reopen()
        await bench.start()
        assert (await soon(bench.session().result("t1"))).status == "completed"
        assert ran == ["a", "b"]

    async def test_queued_turns_survive_and_keep_their_order(self, bench: Bench) -> None:
        killer = Killer()
        await bench.start(killer.agent())
        await bench.begin("die")
        await killer.wait()
        for n in ("2", "3"):
            await bench.session().start(TurnInput(message=n, turn_id=f"t{n}"))
        await bench.kill()
        killer.deadly = False
        await bench.start()
        await soon(bench.session().result("t3"))
        said = [text for role, text in await texts(bench.session()) if role == "user"]
        assert said == ["die", "2", "3"]

    async def test_a_removed_tool_is_an_error_result_that_says_so(self, bench: Bench) -> None:
        killer = Killer()
        await killer.strike(bench, script=once("deadly"))
        await bench.start(june(script=say("moved on")))
        assert (await soon(bench.session().result("t1"))).text == "moved on"
        [told] = await outputs(bench.session())
        assert isinstance(told, dict)
        assert "is gone since this turn began" in str(told["error"])


class TestStoreOutage:
    async def test_acceptance_says_try_again_and_claims_nothing(self, bench: Bench) -> None:
        await bench.start(june())
        bench.store.down = True
        with pytest.raises(StoreUnavailableError) as refused:
            await bench.begin("x")
        assert refused.value.status == 503
        bench.store.down = False
        assert (await bench.session().start(TurnInput(message="x", turn_id="t1"))).created

    async def test_a_running_turn_goes_on_by_itself_afterwards(self, bench: Bench) -> None:
        hold, hands = Hold(), Hands()
        ran: list[int] = []

        @tool
        async def work() -> str:
            ran.append(1)
            await hold.here()
            return "worked"

        await bench.start(june(work, script=once("work")), clock=hands.clock)
        session = await bench.begin()
        await hold.wait()
        bench.store.down = True
        hold.go()
        await until(lambda: bench.runtime.problem is not None)
        assert not bench.runtime.health().ready
        bench.store.down = False
        assert (await soon(session.result("t1"))).status == "completed"
        assert await outputs(session) == ["worked"]
        found = await record(bench, "t1")
        assert (found.crashes, found.suspect) == (0, 0)
        assert not bench.runtime.health().ready, "one good write is not enough"
        hands.forward(60)
        await until(lambda: bench.runtime.health().ready)

    async def test_a_commit_whose_answer_was_lost_is_settled_by_reading(self, bench: Bench) -> None:
        @tool
        async def work() -> str:
            return "worked"

        await bench.start(june(work, script=once("work")))
        session = bench.session()
        gate = bench.store.hold("after model:1")
        await session.start(TurnInput(message="go", turn_id="t1"))
        await gate.wait()
        bench.store.down = True
        gate.go()
        await asyncio.sleep(0)
        await until(lambda: bench.runtime.actors()[0].attempt is None)
        bench.store.down = False
        assert (await soon(session.result("t1"))).status == "completed"
        roles = [role for role, _ in await texts(session)]
        assert roles == ["user", "assistant", "tool", "assistant"]
        await kinds(bench, "t1")


async def _ended(bench: Bench, turn_id: str) -> bool:
    return (await record(bench, turn_id)).state not in {"queued", "running", "suspended"}
