"""Who appears in more than one part of the suite: tools, models, an agent that asks, its hook."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Mapping
from typing import Any

from typing_extensions import override

from gateway.engine.agent import AgentDef
from gateway.engine.errors import GatewayError
from gateway.engine.kinds import JsonObject
from gateway.engine.model import ModelDelta, ModelReply, ModelRequest
from gateway.engine.steps.context import ToolContext
from gateway.engine.tool import tool
from gateway.models.scripted import ScriptedModel
from gateway.testing.crash import Crash
from tests.conformance.engine.kit import june, once, say, soon

REQUEST: JsonObject = {"ts": "1.2"}
"""An inbound event, for turns that people start on a channel."""


# -- tools -----------------------------------------------------------------------------------------
@tool
async def ask(ctx: ToolContext) -> bool:
    """Ask a person."""
    return bool(await ctx.request_input(id="ok", prompt="Go on?"))


async def ask_for(ctx: ToolContext, name: str = "ok") -> bool:
    """What a tool does that asks a person."""
    return bool(await ctx.request_input(id=name, prompt=f"Do {name}?"))


@tool
def write(ctx: ToolContext, text: str, fail: bool = False) -> str:
    """Write a row."""
    handle = ctx.store.unwrap()
    if handle is not None:
        handle.execute("create table if not exists rows(text text)")
        handle.execute("insert into rows values (?)", (text,))
    if fail:
        raise ValueError("on purpose")
    return text


# -- models ----------------------------------------------------------------------------------------
def echo(request: ModelRequest) -> ModelReply:
    return say(f"re: {request.text}")


class Slow:
    """A model that waits, each time, until the test lets it answer."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[str] = asyncio.Queue()
        self.free = asyncio.Event()

    async def __call__(self, request: ModelRequest) -> ModelReply:
        self.asked.put_nowait(request.text)
        await self.free.wait()
        return echo(request)

    async def wait(self) -> str:
        return await soon(self.asked.get())


class Said(ScriptedModel):
    """An adapter that doesn't look at what it says: one thing after the other."""

    def __init__(self, *said: ModelReply | BaseException) -> None:
        super().__init__(lambda _: say(""))
        self.said = list(said)

    @override
    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelDelta | ModelReply]:
        said = self.said.pop(0)
        if isinstance(said, BaseException):
            raise said
        yield said


# -- people ----------------------------------------------------------------------------------------
class Hook:
    """An agent's ``authorize_answer``: lets the listed people in, keeps what it was shown."""

    def __init__(self, *people: str) -> None:
        self.people = people
        self.shown: list[Mapping[str, Any]] = []
        self.broken = False

    async def __call__(self, **shown: Any) -> bool:
        self.shown.append(shown)
        if self.broken:
            raise RuntimeError("the directory is away")
        return shown["by"] in self.people


def asking(
    answerers: Mapping[str, object] | None = None, hook: Hook | None = None, **options: Any
) -> AgentDef:
    """An agent with a tool that asks, and then says what it was told."""

    @tool
    async def work(ctx: ToolContext) -> Any:
        got = await ctx.request_input(id="ok", prompt="Go on?", answerers=answerers, **options)
        decision = ctx.decision
        assert decision is not None
        return {"got": got, "outcome": decision.outcome, "by": decision.by}

    return june(work, script=once("work"), authorize_answer=hook)


async def ignored(work: Awaitable[object]) -> None:
    """Wait for what a dying process will never finish."""
    try:
        await work
    except (GatewayError, Crash):
        return
