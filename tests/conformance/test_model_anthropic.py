"""The Anthropic adapter passes the suite, over a real socket, against the strict fake."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from typing_extensions import override

from gateway.engine.messages import Block, Reasoning, Text, ToolCall
from gateway.engine.model import ModelReply
from gateway.models.anthropic import AnthropicModel, anthropic
from gateway.testing.fake_anthropic import (
    Answer as Scripted,
)
from gateway.testing.fake_anthropic import (
    Call,
    Cut,
    FakeAnthropic,
    Refusal,
    Reply,
    Say,
    Stall,
    Think,
    overloaded,
    say,
)
from tests.conformance.model_suite import TALE, TOOL, Answer, ModelSuite, Stage, answer, request


class _Stage:
    def __init__(self, fake: FakeAnthropic) -> None:
        self.fake = fake
        self.model: AnthropicModel = anthropic("claude-opus-5-5", api_key="test", base_url=fake.url)

    @property
    def asked(self) -> int:
        return len(self.fake.requests)

    async def abandoned(self) -> None:
        last = self.fake.requests[-1]
        await last.done.wait()
        assert last.hung_up


def scripted(wanted: Answer) -> Scripted:
    match wanted:
        case "unavailable":
            return overloaded()
        case "refused":
            return Refusal(403, "permission_error", "no")
        case "cut":
            return Reply(content=[Say(TALE)], cut=Cut(500))
        case "stall":
            return Reply(content=[Say(TALE)], stall=Stall(0, 60.0))
        case ModelReply():
            return Reply(content=[part(block) for block in wanted.blocks], stop=wanted.stop)


def part(block: Block) -> Say | Think | Call:
    match block:
        case Text(text):
            return Say(text)
        case Reasoning(text):
            return Think(text)
        case ToolCall():
            name = "look_up" if block.name == TOOL.name else block.name
            return Call(name, block.input, id=block.id)
        case _:
            raise AssertionError(block)


class TestAnthropic(ModelSuite):
    @override
    def stage(self, *answers: Answer) -> AbstractAsyncContextManager[Stage]:
        @asynccontextmanager
        async def made() -> AsyncIterator[Stage]:
            async with FakeAnthropic([scripted(one) for one in answers]) as fake:
                stage = _Stage(fake)
                await asyncio.to_thread(stage.model.check)  # loads the SDK, for seconds if need be
                yield stage
                await stage.model.close()

        return made()

    async def test_a_replay_sends_the_same_bytes(self) -> None:
        async with FakeAnthropic([say("A"), say("A")]) as fake:
            model = _Stage(fake).model
            for _ in range(2):
                await answer(model, request(model))
            await model.close()
        assert fake.requests[0].raw == fake.requests[1].raw
