"""Surfaces and editions; the runtime's own promises: actors, seams, hooks."""

from __future__ import annotations

import math

import pytest

from gateway.engine.agent import Surface, TurnError
from gateway.engine.errors import BusyError, FatalToolError, SeamVersionError
from gateway.engine.kinds import Json
from gateway.engine.limits import Limits
from gateway.engine.loop.recovery import sweep
from gateway.engine.messages import Reasoning, Text
from gateway.engine.model import ModelReply, ModelRequest
from gateway.engine.outcomes import TurnInput
from gateway.engine.runtime import Runtime
from gateway.engine.steps.context import ToolContext
from gateway.engine.tool import tool
from gateway.models.scripted import ScriptedModel
from gateway.sinks.local import LocalSink
from tests.conformance.engine.kit import (
    Bench,
    Hold,
    answer,
    error_of,
    june,
    once,
    outputs,
    park,
    run,
    say,
    soon,
    until,
)
from tests.support.turns import calls


class Seen:
    """A model that keeps what it was sent."""

    def __init__(self, *script: ModelReply) -> None:
        self.script = list(script)
        self.requests: list[tuple[str, tuple[str, ...], str, int, int]] = []

    def __call__(self, request: ModelRequest) -> ModelReply:
        tools = tuple(spec.name for spec in request.tools)
        self.requests.append(
            (request.system, tools, request.edition.hash, request.history, len(request.messages))
        )
        return self.script.pop(0) if self.script else say("done")


@tool
async def ask(ctx: ToolContext) -> bool:
    """Ask a person."""
    return bool(await ctx.request_input(id="ok", prompt="Go on?"))


@tool
async def danger() -> str:
    """Do something dangerous."""
    return "boom"


class TestSurfaces:
    async def test_an_overlay_is_appended_or_takes_the_prompts_place(self, bench: Bench) -> None:
        model = Seen()
        agent = june(
            script=model,
            instructions="Base.",
            overlays={"slack": "Be short.", "email": "Be formal."},
            surfaces={"email": Surface(mode="replace")},
        )
        await bench.start(agent)
        for source in ("api", "slack", "email"):
            await run(bench.session(), source=source)
        assert [seen[0] for seen in model.requests] == [
            *("Base.", "Base.\n\nBe short.", "Be formal.")
        ]

    async def test_a_denied_tool_is_not_listed_and_a_call_of_it_is_unknown(
        self, bench: Bench
    ) -> None:
        model = Seen(calls(("danger", {})))
        agent = june(danger, ask, script=model, surfaces={"email": Surface(deny_tools={"danger"})})
        await bench.start(agent)
        await run(bench.session(), source="email")
        assert model.requests[0][1] == ("ask",)
        assert await error_of(bench.session()) == "there is no tool 'danger'. Tools: ask"
        await run(bench.session(), source="api")
        assert model.requests[-1][1] == ("ask", "danger")

    async def test_what_was_denied_at_the_start_stays_denied_on_resume(self, bench: Bench) -> None:
        bench.need_durable()
        script = [calls(("ask", {}), ("danger", {})), say("done")]
        strict = {"surfaces": {"api": Surface(deny_tools={"danger"})}}
        await bench.start(june(ask, danger, script=script, **strict))
        asked = await park(bench.session())
        await bench.kill()
        await bench.start(june(ask, danger, script=script))
        await answer(bench.session(), asked, True)
        assert "no tool 'danger'" in await error_of(bench.session(), 1)

    async def test_what_is_denied_today_is_denied_on_resume_too(self, bench: Bench) -> None:
        bench.need_durable()
        script = [calls(("ask", {}), ("danger", {})), say("done")]
        await bench.start(june(ask, danger, script=script))
        asked = await park(bench.session())
        await bench.kill()
        strict = {"surfaces": {"api": Surface(deny_tools={"danger"})}}
        await bench.start(june(ask, danger, script=script, **strict))
        await answer(bench.session(), asked, True)
        assert "no tool 'danger'" in await error_of(bench.session(), 1)

    async def test_a_parked_turn_goes_on_with_todays_code_and_its_own_edition(
        self, bench: Bench
    ) -> None:
        bench.need_durable()
        model = Seen(calls(("ask", {})))
        await bench.start(june(ask, script=model, instructions="Old."))
        asked = await park(bench.session())
        await bench.kill()

        @tool
        async def ask2(ctx: ToolContext) -> str:
            """Ask a person."""
            return f"new {await ctx.request_input(id='ok', prompt='Go on?')}"

        from dataclasses import replace

        await bench.start(june(replace(ask2, name="ask"), script=model, instructions="New."))
        await answer(bench.session(), asked, True)
        assert await outputs(bench.session()) == ["new True"]
        assert [seen[0] for seen in model.requests] == ["Old.", "Old."]
        await run(bench.session())
        assert model.requests[-1][0] == "New."


class TestEditions:
    async def test_the_same_prompt_and_tools_are_one_edition(self, bench: Bench) -> None:
        model = Seen()
        await bench.start(june(ask, danger, script=model))
        await run(bench.session())
        await run(bench.session())
        await run(bench.session("other"))
        assert len({seen[2] for seen in model.requests}) == 1
        assert [seen[3] for seen in model.requests] == [0, 0, 0]

    async def test_another_source_opens_another_edition_and_draws_a_line_in_the_history(
        self, bench: Bench
    ) -> None:
        model = Seen()
        await bench.start(june(script=model, overlays={"slack": "Be short."}))
        for source in ("api", "api", "slack", "slack", "api"):
            await run(bench.session(), source=source)
        assert [seen[3] for seen in model.requests] == [0, 0, 4, 4, 8]
        assert [seen[4] for seen in model.requests] == [1, 3, 5, 7, 9]

    async def test_what_was_said_is_sent_again_byte_for_byte(self, bench: Bench) -> None:
        sent: list[list[str]] = []

        def script(request: ModelRequest) -> ModelReply:
            sent.append([repr(message) for message in request.messages])
            raw: dict[str, Json] = {"type": "thinking", "signature": "abc", "n": 1.0}
            return ModelReply((Reasoning("hm", raw), Text("ok")))

        await bench.start(june(script=script))
        await run(bench.session(), "1")
        if bench.store.capabilities.durable:
            await bench.kill()
            await bench.start()
        await run(bench.session(), "2")
        assert sent[1][: len(sent[0])] == sent[0]


class TestRuntime:
    @pytest.mark.parametrize("cap", [0, -1, 1.5, True, math.nan, "9", None])
    async def test_a_cap_that_is_no_whole_number_is_refused(self, bench: Bench, cap: float) -> None:
        with pytest.raises(ValueError, match="whole number"):
            Runtime({}, bench.store, LocalSink(), max_sessions=cap)

    async def test_only_idle_actors_are_dropped(self, bench: Bench) -> None:
        hold = Hold()

        async def script(request: ModelRequest) -> ModelReply:
            if request.text == "wait":
                await hold.here()
            return say(f"re: {request.text}")

        await bench.start(june(script=script), max_sessions=2)
        busy = bench.session("busy")
        started = await busy.start(TurnInput(message="wait"))
        await hold.wait()
        async with bench.runtime.sink.subscribe(bench.session("watched").ref, "t"):
            await run(bench.session("watched"))
            for n in range(5):
                assert (await run(bench.session(str(n)))).text == "re: go"
                await until(lambda: sum(a.driver is not None for a in bench.runtime.actors()) == 1)
            kept = {actor.world.ref.key for actor in bench.runtime.actors()}
            assert {"busy", "watched"} < kept
            assert len(kept) == 3
        hold.go()
        assert (await soon(busy.result(started.turn_id))).text == "re: wait"

    async def test_a_sweep_has_nothing_asked_of_a_session_that_runs(self, bench: Bench) -> None:
        """Its driver asks by itself where others may have written, and nowhere else."""
        hold = Hold()

        async def script(_: ModelRequest) -> ModelReply:
            await hold.here()
            return say("done")

        await bench.start(june(script=script))
        started = await bench.session().start(TurnInput(message="go"))
        await hold.wait()
        begun = bench.store.writes.count("begin")
        await sweep(bench.runtime)
        hold.go()
        await soon(bench.session().result(started.turn_id))
        await _quiet(bench)
        assert bench.store.writes.count("begin") - begun == bench.runtime.shared

    async def test_an_evicted_session_is_as_it_was(self, bench: Bench) -> None:
        def script(request: ModelRequest) -> ModelReply:
            return say(str(len(request.messages)))

        await bench.start(june(script=script), max_sessions=1)
        for key in ("a", "b", "a", "b"):
            await run(bench.session(key))
        assert (await run(bench.session("a"))).text == "5"

    async def test_a_seam_of_another_version_is_refused_with_both_named(self, bench: Bench) -> None:
        class Newer(LocalSink):
            seam_version = 7

        class NewModel(ScriptedModel):
            seam_version = 8

        with pytest.raises(SeamVersionError, match="version 7, this engine speaks 1"):
            Runtime({}, bench.store, Newer())
        with pytest.raises(SeamVersionError, match=r"model of june .*version 8"):
            Runtime({"june": june(model=NewModel(lambda _: say("x")))}, bench.store, LocalSink())
        bench.store.seam_version = 6
        with pytest.raises(SeamVersionError, match=r"store .*version 6"):
            Runtime({}, bench.store, LocalSink())

    async def test_no_more_turns_run_at_once_than_allowed(self, bench: Bench) -> None:
        running, most = 0, 0
        hold = Hold()

        async def script(_: ModelRequest) -> ModelReply:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await hold.here()
            running -= 1
            return say("x")

        await bench.start(june(script=script), limits=Limits(running_turns=2))
        started = [
            await bench.session(str(n)).start(TurnInput(message="x", turn_id="t")) for n in range(5)
        ]
        await until(lambda: running == 2 and bench.runtime.queued() == 3)
        hold.go()
        for n in range(len(started)):
            assert (await soon(bench.session(str(n)).result("t"))).status == "completed"
        assert most == 2

    async def test_the_hosts_queue_counts_turns_and_not_sessions(self, bench: Bench) -> None:
        hold = Hold()

        async def script(_: ModelRequest) -> ModelReply:
            await hold.here()
            return say("x")

        await bench.start(june(script=script), limits=Limits(running_turns=1, queue_per_host=4))
        long, other = bench.session("long"), bench.session("other")
        for n in range(4):
            await long.start(TurnInput(message="x", turn_id=f"t{n}"))
        await hold.wait()
        await other.start(TurnInput(message="x", turn_id="t0"))
        await until(lambda: bench.runtime.queued() == 4)
        for full in (long, other, bench.session("third")):
            with pytest.raises(BusyError):
                await full.start(TurnInput(message="x", turn_id="late"))
        await long.cancel("t2")
        assert bench.runtime.queued() == 3
        await other.start(TurnInput(message="x", turn_id="t1"))
        assert bench.runtime.queued() == 4
        await long.cancel("t3")
        await long.start(TurnInput(message="x", turn_id="t4"), replace=True)
        hold.go()
        for session, last in ((long, "t4"), (other, "t1")):
            assert (await soon(session.result(last))).status == "completed"
        await _quiet(bench)
        assert bench.runtime.queued() == 0

    async def test_turns_behind_a_park_wait_for_a_person_and_not_for_the_host(
        self, bench: Bench
    ) -> None:
        @tool
        async def ask(ctx: ToolContext) -> bool:
            return bool(await ctx.request_input(id="ok", prompt="?"))

        await bench.start(june(ask, script=once("ask")), limits=Limits(queue_per_host=1))
        asked = await park(bench.session())
        for n in range(3):
            given = TurnInput(message="x", turn_id=f"t{n}")
            await bench.session().start(given, when_suspended="queue")
            await _quiet(bench)
        assert bench.runtime.queued() == 0
        await bench.session().cancel(asked.turn_id)
        assert (await soon(bench.session().result("t0"))).status == "suspended"


class TestOnTurnError:
    async def test_it_is_told_of_a_failed_turn_in_place_of_the_log(
        self, bench: Bench, caplog: pytest.LogCaptureFixture
    ) -> None:
        told: list[TurnError] = []

        async def hook(error: TurnError) -> None:
            told.append(error)

        @tool
        async def stop() -> None:
            raise FatalToolError("no use")

        await bench.start(june(stop, script=once("stop"), on_turn_error=hook))
        result = await run(bench.session())
        await _quiet(bench)
        [error] = told
        assert (error.agent, error.session, error.turn_id) == ("june", "s", result.turn_id)
        assert isinstance(error.error, FatalToolError)
        assert (error.phase, error.step) == ("tool", "tool:1:call_1_0")
        assert "failed" not in caplog.text

    async def test_a_hook_that_throws_does_not_hide_the_failure(
        self, bench: Bench, caplog: pytest.LogCaptureFixture
    ) -> None:
        def hook(_: TurnError) -> None:
            raise RuntimeError("the hook is broken")

        @tool
        def stop() -> None:
            raise FatalToolError("no use") from ValueError("the cause")

        await bench.start(june(stop, script=once("stop"), on_turn_error=hook))
        assert (await run(bench.session())).status == "failed"
        await _quiet(bench)
        assert "the hook is broken" in caplog.text
        assert "tool:1:call_1_0: no use" in caplog.text
        assert "the cause" in caplog.text
        assert (await run(bench.session("b"))).status == "failed"


async def _quiet(bench: Bench) -> None:
    await until(lambda: all(actor.driver is None for actor in bench.runtime.actors()))
