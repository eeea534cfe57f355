"""An agent that is replaced while it runs: new turns run on the new code, the others on theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pytest
from typing_extensions import override

from gateway.engine.agent import AgentDef, Surface, TurnError
from gateway.engine.errors import NotFoundError
from gateway.engine.model import ModelReply, ModelRequest
from gateway.engine.steps.context import ToolContext
from gateway.engine.struct import replace
from gateway.engine.tool import Tool, tool
from gateway.models.scripted import ScriptedModel
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


def asking(edition: str) -> Tool:
    @tool
    async def ask(ctx: ToolContext) -> str:
        """Ask a person."""
        await ctx.request_input(id="ok", prompt="May I?")
        return edition

    return ask


def telling(edition: str) -> AgentDef:
    """An agent that asks, and says which code it runs on in its prompt, its tool and its answer."""

    def reply(request: ModelRequest) -> ModelReply:
        results = request.messages[-1].results
        if not results:
            return ModelReply.call("ask")
        return say(f"{request.system} {results[0].output} {edition}")

    return june(asking(edition), script=reply, instructions=edition)


class Saved(Mapping[str, Surface]):
    """Surfaces whose author saves while a turn is beginning with them."""

    def __init__(self, save: Callable[[], None]) -> None:
        self._save = save

    @override
    def __getitem__(self, source: str) -> Surface:
        self._save()
        return Surface()

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(())

    @override
    def __len__(self) -> int:
        return 0


class TestReplacing:
    async def test_a_new_turn_runs_on_the_new_code(self, bench: Bench) -> None:
        runtime = await bench.start(telling("old"))
        session = bench.session()
        asked = await park(session, turn_id="t1")
        assert (await answer(session, asked, True)).text == "old old old"
        runtime.adopt(telling("new"))
        asked = await park(session, turn_id="t2")
        assert (await answer(session, asked, True)).text == "new new new"

    async def test_a_parked_turn_keeps_the_code_that_it_began_on(self, bench: Bench) -> None:
        runtime = await bench.start(telling("old"))
        asked = await park(bench.session())
        runtime.adopt(telling("new"))
        runtime.adopt(telling("newest"))
        assert (await answer(bench.session(), asked, True)).text == "old old old"
        again = await park(bench.session())
        assert (await answer(bench.session(), again, True)).text == "newest newest newest"

    async def test_so_does_one_that_is_under_way(self, bench: Bench) -> None:
        hold = Hold()

        @tool
        async def wait() -> str:
            await hold.here()
            return "old"

        before = june(wait, script=once("wait", end="old"))
        runtime = await bench.start(before)
        session = await bench.begin()
        await hold.wait()
        runtime.adopt(june(script=say("new")))
        hold.go()
        assert (await soon(session.result("t1"))).text == "old"
        assert await outputs(session) == ["old"]
        assert (await run(session)).text == "new"

    async def test_one_that_is_just_beginning_is_of_one_piece(self, bench: Bench) -> None:
        left = [telling("new")]

        def save() -> None:
            if left:
                runtime.adopt(left.pop())

        runtime = await bench.start(replace(telling("old"), surfaces=Saved(save)))
        asked = await park(bench.session())
        assert (await answer(bench.session(), asked, True)).text == "old old old"
        again = await park(bench.session())
        assert (await answer(bench.session(), again, True)).text == "new new new"

    async def test_it_keeps_it_however_crowded_the_process_is(self, bench: Bench) -> None:
        runtime = await bench.start(telling("old"), max_sessions=1)
        asked = await park(bench.session("parked"))
        runtime.adopt(telling("new"))
        for number in range(3):
            await park(bench.session(f"s{number}"))
        assert (await answer(bench.session("parked"), asked, True)).text == "old old old"

    async def test_what_is_denied_today_is_denied_to_the_old_code_too(self, bench: Bench) -> None:
        runtime = await bench.start(telling("old"))
        session = bench.session()
        asked = await park(session)
        shut = replace(telling("new"), surfaces={"api": Surface(deny_tools={"ask"})})
        runtime.adopt(shut)
        await answer(session, asked, True)
        assert "ask" in await error_of(session)

    async def test_its_failure_is_told_to_the_hook_that_it_began_with(self, bench: Bench) -> None:
        told: list[str] = []

        def agent(name: str) -> AgentDef:
            def note(error: TurnError) -> None:
                told.append(f"{name}: {error.turn_id}")

            def reply(request: ModelRequest) -> ModelReply:
                if request.messages[-1].results:
                    raise RuntimeError
                return ModelReply.call("ask")

            return june(asking(name), script=reply, on_turn_error=note)

        runtime = await bench.start(agent("old"))
        session = bench.session()
        asked = await park(session, turn_id="t1")
        runtime.adopt(agent("new"))
        assert (await answer(session, asked, True)).status == "failed"
        assert told == ["old: t1"]

    async def test_after_a_restart_it_runs_on_todays_code(self, bench: Bench) -> None:
        bench.need_durable()
        await bench.start(telling("old"))
        asked = await park(bench.session())
        await bench.kill()
        await bench.start(telling("new"))
        result = await answer(bench.session(), asked, True)
        # Its prompt is its edition's, as long as it runs.
        assert result.text == "old new new"

    async def test_an_ended_turn_is_forgotten(self, bench: Bench) -> None:
        runtime = await bench.start(telling("old"))
        session = bench.session()
        await park(session, turn_id="t1")
        await session.cancel("t1")
        runtime.adopt(telling("new"))
        await until(lambda: all(actor.idle() for actor in runtime.actors()))

    async def test_only_an_agent_that_runs_here_can_be_replaced(self, bench: Bench) -> None:
        runtime = await bench.start(june())
        with pytest.raises(NotFoundError, match="no agent 'may'"):
            runtime.adopt(replace(june(), name="may"))

    async def test_every_model_is_closed_at_the_end(self, bench: Bench) -> None:
        closed: list[str] = []

        class Closing(ScriptedModel):
            @override
            async def close(self) -> None:
                closed.append(self.name)

        def agent(name: str) -> AgentDef:
            return june(model=Closing(lambda _: say("done"), name))

        runtime = await bench.start(agent("old"))
        runtime.adopt(agent("new"))
        await runtime.stop()
        assert closed == ["new", "old"]
