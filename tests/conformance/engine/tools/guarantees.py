"""Tools: what a call may do, what becomes of what it returns or raises, and how often it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from gateway.engine.events import ActionProgress, TurnEvent
from gateway.engine.kinds import JsonObject
from gateway.engine.steps.context import ToolContext
from gateway.engine.tool import tool
from tests.conformance.engine.cast import write
from tests.conformance.engine.kit import (
    SLACK,
    Bench,
    Hold,
    error_of,
    june,
    kinds,
    once,
    outputs,
    results,
    run,
    say,
    soon,
    until,
)
from tests.support.turns import calls


@tool
def rows(ctx: ToolContext) -> list[str]:
    """Read the rows."""
    handle = ctx.store.unwrap()
    assert handle is not None
    return [str(row[0]) for row in handle.execute("select text from rows").fetchall()]


class TestTools:
    async def test_a_sync_tools_rows_commit_with_its_step(self, bench: Bench) -> None:
        bench.need_handle()
        script = [calls(("write", {"text": "a"})), calls(("rows", {})), say("done")]
        await bench.start(june(write, rows, script=script))
        await run(bench.session())
        assert await outputs(bench.session()) == ["a", ["a"]]

    async def test_a_sync_tools_exception_takes_its_rows_back(self, bench: Bench) -> None:
        bench.need_handle()
        script = [
            calls(("write", {"text": "a"}), ("write", {"text": "b", "fail": True})),
            calls(("rows", {})),
            say("done"),
        ]
        await bench.start(june(write, rows, script=script))
        assert (await run(bench.session())).status == "completed"
        assert (await outputs(bench.session()))[1:] == [{"error": "ValueError: on purpose"}, ["a"]]

    async def test_a_sync_tool_killed_before_its_commit_writes_once(self, bench: Bench) -> None:
        bench.need_handle()
        script = [calls(("write", {"text": "a"})), calls(("rows", {})), say("done")]
        await bench.start(june(write, rows, script=script))
        hold = bench.store.hold("after local write")
        session = bench.session()
        started = asyncio.ensure_future(run(session, turn_id="t1"))  # noqa: TID251
        await hold.wait()
        await bench.kill()
        with pytest.raises(Exception, match="stopping"):
            await started
        await bench.start(june(write, rows, script=script))
        assert (await soon(bench.session().result("t1"))).status == "completed"
        assert await outputs(bench.session()) == ["a", ["a"]]

    async def test_a_sync_tool_has_no_handle_where_there_is_none(self, bench: Bench) -> None:
        @tool
        def look(ctx: ToolContext) -> bool:
            return ctx.store.unwrap() is not None

        await bench.start(june(look, script=once("look")))
        await run(bench.session())
        assert await outputs(bench.session()) == [bench.store.capabilities.handle]

    async def test_an_async_tool_gets_no_handle(self, bench: Bench) -> None:
        @tool
        async def look(ctx: ToolContext) -> bool:
            return ctx.store.unwrap() is not None

        await bench.start(june(look, script=once("look")))
        await run(bench.session())
        assert "plain `def`" in await error_of(bench.session())

    async def test_calls_of_one_batch_run_in_order(self, bench: Bench) -> None:
        seen: list[str] = []

        @tool
        async def far(n: str) -> None:
            seen.append(n)
            await asyncio.sleep(0)
            seen.append(n)

        @tool
        def near(n: str) -> None:
            seen.append(n)

        script = [calls(("far", {"n": "1"}), ("near", {"n": "2"}), ("far", {"n": "3"})), say("x")]
        await bench.start(june(far, near, script=script))
        await run(bench.session())
        assert seen == ["1", "1", "2", "3", "3"]

    async def test_the_context_tells_what_the_turn_is(self, bench: Bench) -> None:
        seen: list[object] = []

        @tool
        async def look(ctx: ToolContext) -> None:
            seen.extend((ctx.agent, ctx.session, ctx.turn_id, ctx.source, ctx.trigger))
            seen.extend((ctx.speaker, ctx.event, ctx.services, ctx.attempt, ctx.decision))

        await bench.start(june(look, script=once("look"), services={"db": 1}))
        event: JsonObject = {"ts": "1"}
        await run(bench.session(), turn_id="t1", source="slack", speaker=SLACK, event=event)
        assert seen == [
            *("june", "s", "t1", "slack", "inbound"),
            *(SLACK, event, {"db": 1}, 1, None),
        ]

    @pytest.mark.parametrize("remote", [False, True])
    async def test_the_context_is_dead_after_the_call(self, bench: Bench, remote: bool) -> None:
        kept: list[ToolContext] = []

        @tool
        def keep(ctx: ToolContext) -> None:
            kept.append(ctx)

        @tool
        async def keep_later(ctx: ToolContext) -> None:
            kept.append(ctx)

        await bench.start(june(keep, keep_later, script=once("keep_later" if remote else "keep")))
        await run(bench.session())
        uses: list[Callable[[ToolContext], object]] = [
            lambda ctx: ctx.session,
            lambda ctx: ctx.progress("x"),
            lambda ctx: ctx.store,
        ]
        for use in uses:
            with pytest.raises(Exception, match="this call is over"):
                use(kept[0])

    async def test_progress_is_live_and_never_stored(self, bench: Bench) -> None:
        seen: list[TurnEvent] = []
        hold = Hold()

        @tool
        async def work(ctx: ToolContext) -> None:
            ctx.progress("half way")
            await hold.here()

        await bench.start(june(work, script=once("work")))
        session = bench.session()

        async def watch() -> None:
            async for event in session.observe("t1"):
                seen.append(event)
                if isinstance(event, ActionProgress):
                    hold.go()

        gate = await bench.start_and_hold(session)
        async with asyncio.TaskGroup() as group:
            group.create_task(soon(watch()))
            await until(lambda: bench.runtime.sink.watched(session.ref))
            gate.go()
        told = [event.text for event in seen if isinstance(event, ActionProgress)]
        assert told == ["half way"]
        assert "action.progress" not in await kinds(bench, "t1")

    async def test_untrusted_output_is_marked_so(self, bench: Bench) -> None:
        @tool(untrusted_output=True)
        async def fetch() -> str:
            return "from the web"

        @tool
        async def mine() -> str:
            return "own"

        await bench.start(june(fetch, mine, script=[calls(("fetch", {}), ("mine", {})), say("x")]))
        await run(bench.session())
        labels = [m.trust for m in await bench.session().transcript() if results([m])]
        assert labels == ["unattested", "tool"]
