"""What history and parked sessions cost: store time and bytes per step with 10 and 1,000 messages
before; memory of 10,000 parked sessions; how soon a process that finds them is ready; the import.

usage: python -m benchmarks.growth
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from typing_extensions import override

from benchmarks.common import STEPS, folder, size_of, text
from benchmarks.engine import agent, prepare
from gateway.engine.agent import AgentDef
from gateway.engine.kinds import SessionRef
from gateway.engine.model import ModelReply, ModelRequest
from gateway.engine.outcomes import TurnInput
from gateway.engine.ports import SessionStore
from gateway.engine.records import Ask, Fence, LocalCall, Plan, SessionView, Writes
from gateway.engine.runtime import Runtime
from gateway.engine.steps.context import ToolContext
from gateway.engine.tool import tool
from gateway.models.scripted import ScriptedModel
from gateway.sinks.local import LocalSink
from gateway.stores import open_store
from gateway.testing.crash import CrashingStore

T = TypeVar("T")
ROUNDS = 40


class TimedStore(CrashingStore):
    """Adds up the time spent in the store's writes."""

    def __init__(self, inner: SessionStore) -> None:
        super().__init__(inner)
        self.spent = 0.0

    @override
    async def amend(self, ref: SessionRef, ask: Ask, decide: Callable[[SessionView], Plan[T]]) -> T:
        began = time.perf_counter()
        result = await self.inner.amend(ref, ask, decide)
        self.spent += time.perf_counter() - began
        return result

    @override
    async def commit(self, fence: Fence, writes: Writes) -> None:
        began = time.perf_counter()
        await self.inner.commit(fence, writes)
        self.spent += time.perf_counter() - began

    @override
    async def run_local(self, fence: Fence, call: LocalCall) -> None:
        began = time.perf_counter()
        await self.inner.run_local(fence, call)
        self.spent += time.perf_counter() - began


async def history() -> None:
    """Turns of a long and of a short conversation in turn, so that both meet the same machine."""
    path = folder() / "history.db"
    store = TimedStore(open_store(f"sqlite:///{path}"))
    await store.open()
    spent = {10: 0.0, 1000: 0.0}
    grew = {10: 0, 1000: 0}
    async with Runtime({"bench": agent()}, store, LocalSink()) as runtime:
        await prepare(runtime)
        for prior in spent:
            for _ in range(prior // 6 + 1):
                await runtime.session("bench", f"h{prior}").turn(TurnInput(message=text()))
        for _ in range(ROUNDS):
            for prior in spent:
                size, before = size_of(path), store.spent
                await runtime.session("bench", f"h{prior}").turn(TurnInput(message=text()))
                spent[prior] += store.spent - before
                grew[prior] += size_of(path) - size
    await store.close()
    steps = ROUNDS * STEPS
    print(
        json.dumps(
            {
                "name": "history",
                "store_us_per_step_10": round(spent[10] / steps * 1e6),
                "store_us_per_step_1000": round(spent[1000] / steps * 1e6),
                "time_ratio": round(spent[1000] / spent[10], 3),
                "bytes_per_step_10": grew[10] // steps,
                "bytes_per_step_1000": grew[1000] // steps,
                "bytes_ratio": round(grew[1000] / grew[10], 3),
            }
        ),
        flush=True,
    )


@tool
async def ask(ctx: ToolContext) -> dict[str, Any]:
    """Ask a person."""
    return {"said": await ctx.request_input(id="ask", prompt="Go on?")}


def resident() -> int:
    """Bytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def parking() -> AgentDef:
    def reply(request: ModelRequest) -> ModelReply:
        return ModelReply.call("ask") if len(request.turn) == 1 else ModelReply.say("ok")

    return AgentDef(name="park", model=ScriptedModel(reply, chunks=0), tools={"ask": ask})


async def park(path: Path, count: int) -> None:
    store = open_store(f"sqlite:///{path}")
    await store.open()
    async with Runtime({"park": parking()}, store, LocalSink()) as runtime:
        first = await runtime.session("park", "warm").start(TurnInput(message=text()))
        await runtime.session("park", "warm").result(first.turn_id)
        before = resident()

        async def one(which: int) -> None:
            session = runtime.session("park", f"p{which}")
            started = await session.start(TurnInput(message=text()))
            await session.result(started.turn_id)

        for start in range(0, count, 64):
            async with asyncio.TaskGroup() as group:
                for which in range(start, min(count, start + 64)):
                    group.create_task(one(which))
        after = resident()
    await store.close()
    grown = (after - before) / 1e6
    print(
        json.dumps({"name": "parked", "sessions": count, "megabytes": round(grown, 1)}), flush=True
    )


async def restart(path: Path) -> None:
    began = time.perf_counter()
    store = open_store(f"sqlite:///{path}")
    await store.open()
    async with Runtime({"park": parking()}, store, LocalSink()):
        took = time.perf_counter() - began
    await store.close()
    print(
        json.dumps({"name": "restart with parked sessions", "seconds": round(took, 3)}), flush=True
    )


def imports() -> None:
    code = "import time; t = time.perf_counter(); import gateway; print(time.perf_counter() - t)"
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)  # noqa: S603 - our own interpreter
        for _ in range(5)
    ]
    took = min(float(run.stdout) for run in runs)
    print(json.dumps({"name": "import gateway", "seconds": round(took, 4)}), flush=True)


async def main() -> None:
    imports()
    await history()
    path = folder() / "parked.db"
    await park(path, 10_000)
    await restart(path)


if __name__ == "__main__":
    asyncio.run(main())
