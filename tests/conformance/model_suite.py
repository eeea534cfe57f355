"""What every ``Model`` must do. A subclass says how to script its provider and inherits the tests.

One promise per test. Replies are written in the engine's own vocabulary, so that the same script
plays on a provider behind a socket and on a function.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from copy import deepcopy
from decimal import Decimal
from typing import Literal, Protocol

import pytest

from gateway.engine.errors import ModelError, ModelUnavailableError
from gateway.engine.messages import Message, Text, ToolCall, ToolResult
from gateway.engine.model import (
    Alive,
    Edition,
    Meter,
    ModelDelta,
    ModelReply,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolInputDelta,
    ToolSpec,
)
from gateway.engine.ports import MODEL_SEAM_VERSION, Model

Fault = Literal["unavailable", "refused", "cut", "stall"]
"""``cut`` fails after part of a reply; ``stall`` never ends."""
Answer = ModelReply | Fault

TOOL = ToolSpec(
    "look up",  # a name that providers don't take as it is
    "Find something.",
    {"type": "object", "properties": {"q": {"type": "string"}}},
)
TALE = "Once upon a time — ünïcödé 🙂 — there was an order, and it was late."
SOON = 20.0


class Stage(Protocol):
    """A model on a scripted provider."""

    @property
    def model(self) -> Model: ...

    @property
    def asked(self) -> int:
        """How many calls reached the provider."""
        ...

    async def abandoned(self) -> None:
        """Return once the provider knows that its last caller left."""
        ...


class ModelSuite(ABC):
    @abstractmethod
    def stage(self, *answers: Answer) -> AbstractAsyncContextManager[Stage]: ...

    # -- the stream ------------------------------------------------------------------------------
    async def test_the_last_item_is_the_reply_and_the_only_one(self) -> None:
        async with self.stage(ModelReply.say(TALE)) as stage:
            *deltas, last = await items(stage.model, request(stage.model))
        assert isinstance(last, ModelReply)
        kinds = (TextDelta, ReasoningDelta, ToolInputDelta, Alive, Meter)
        assert all(isinstance(delta, kinds) for delta in deltas)

    async def test_text_arrives_in_pieces_that_add_up_to_the_reply(self) -> None:
        reply = ModelReply(
            (Text(TALE), ToolCall("c1", TOOL.name, {"q": "x"}), Text("Bye bye")), "tool_use"
        )
        async with self.stage(reply) as stage:
            *deltas, last = await items(stage.model, request(stage.model))
        assert isinstance(last, ModelReply)
        shown: dict[int, str] = {}
        for delta in deltas:
            if isinstance(delta, TextDelta):
                assert delta.offset == len(shown.get(delta.block, ""))
                shown[delta.block] = shown.get(delta.block, "") + delta.text
        assert shown == {n: b.text for n, b in enumerate(last.blocks) if isinstance(b, Text)}
        assert sum(isinstance(delta, TextDelta) for delta in deltas) > len(shown)

    async def test_the_reply_is_what_the_provider_said(self) -> None:
        call = ToolCall("c1", TOOL.name, {"q": "é\n", "n": [1, None, {"a": 2.5}], "b": True})
        said = ModelReply((Text(TALE), call), stop="tool_use")
        async with self.stage(said) as stage:
            reply = await answer(stage.model, request(stage.model))
        assert reply.blocks == said.blocks
        assert reply.stop == "tool_use"

    async def test_the_same_request_and_answer_give_the_same_reply(self) -> None:
        call = ModelReply.call(TOOL.name, id="c1", text="Let me see.", q="x")
        async with self.stage(call, call) as stage:
            first = await answer(stage.model, request(stage.model))
            second = await answer(stage.model, request(stage.model))
        assert first == second

    async def test_a_request_is_only_read(self) -> None:
        async with self.stage(ModelReply.say("Hi")) as stage:
            asked = request(stage.model)
            before = deepcopy(asked)
            await answer(stage.model, asked)
        assert asked == before

    async def test_the_bill_names_its_model_and_price_list(self) -> None:
        async with self.stage(ModelReply.say("Hi")) as stage:
            usage = (await answer(stage.model, request(stage.model))).usage
        assert usage.model
        assert usage.prices
        assert isinstance(usage.cost, Decimal)
        assert not usage.estimated

    # -- calls -------------------------------------------------------------------------------------
    async def test_call_ids_are_unique_over_a_conversation(self) -> None:
        two = ModelReply(
            (ToolCall("", TOOL.name, {"q": "1"}), ToolCall("", TOOL.name, {"q": "2"})), "tool_use"
        )
        async with self.stage(two, two, ModelReply.say("Done")) as stage:
            messages = [opening()]
            for _ in range(2):
                reply = await answer(stage.model, request(stage.model, messages))
                extend(messages, reply)
            last = await answer(stage.model, request(stage.model, messages))
        ids = [call.id for message in messages for call in message.calls]
        assert len(set(ids)) == 4
        assert all(ids)
        assert last.text == "Done"

    async def test_a_long_conversation_of_several_turns_is_taken(self) -> None:
        script = [ModelReply.call(TOOL.name, text="Hm.", q=str(n)) for n in range(3)]
        async with self.stage(*script, ModelReply.say("A"), ModelReply.say("B")) as stage:
            messages = [opening()]
            while True:
                reply = await answer(stage.model, request(stage.model, messages))
                extend(messages, reply)
                if not reply.calls:
                    break
            messages.append(opening(len(messages), "t2"))
            assert (await answer(stage.model, request(stage.model, messages))).text == "B"

    # -- leaving -----------------------------------------------------------------------------------
    async def test_closing_the_iterator_lets_go_of_the_provider(self) -> None:
        async with self.stage("stall") as stage, asyncio.TaskGroup() as tasks:
            stream = stage.model.stream(request(stage.model))
            reading = tasks.create_task(first(stream))
            await reached(stage)
            reading.cancel()
            await asyncio.wait([reading])
            await close(stream)
            async with asyncio.timeout(SOON):
                await stage.abandoned()

    async def test_closing_after_the_first_delta_lets_go_too(self) -> None:
        async with self.stage(ModelReply.say(TALE), ModelReply.say("Again")) as stage:
            stream = stage.model.stream(request(stage.model))
            await anext(stream)
            await close(stream)
            assert (await answer(stage.model, request(stage.model))).text == "Again"

    async def test_a_cancelled_call_ends_at_once(self) -> None:
        async with self.stage("stall") as stage, asyncio.TaskGroup() as tasks:
            call = tasks.create_task(answer(stage.model, request(stage.model)))
            await reached(stage)
            call.cancel()
            async with asyncio.timeout(SOON):
                await asyncio.wait([call])
                await stage.abandoned()
            assert call.cancelled()

    # -- failing -----------------------------------------------------------------------------------
    async def test_a_passing_failure_says_so_and_is_not_tried_again_here(self) -> None:
        async with self.stage("unavailable", ModelReply.say("Now")) as stage:
            with pytest.raises(ModelUnavailableError):
                await answer(stage.model, request(stage.model))
            assert stage.asked == 1
            assert (await answer(stage.model, request(stage.model))).text == "Now"

    async def test_a_final_failure_is_no_passing_one(self) -> None:
        async with self.stage("refused") as stage:
            with pytest.raises(ModelError) as raised:
                await answer(stage.model, request(stage.model))
        assert not isinstance(raised.value, ModelUnavailableError)

    async def test_a_reply_that_is_cut_is_no_reply(self) -> None:
        async with self.stage("cut") as stage:
            got: list[ModelDelta | ModelReply] = []
            with pytest.raises(ModelUnavailableError):
                await collect(stage.model, request(stage.model), got)
        assert not any(isinstance(item, ModelReply) for item in got)

    async def test_calls_at_the_same_time_do_not_mix(self) -> None:
        async with self.stage(*[ModelReply.say(TALE)] * 8) as stage, asyncio.TaskGroup() as tasks:
            calls = [tasks.create_task(items(stage.model, request(stage.model))) for _ in range(8)]
        for call in calls:
            *deltas, last = call.result()
            assert isinstance(last, ModelReply)
            assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == TALE

    # -- what an edition is made of ----------------------------------------------------------------
    async def test_name_and_settings_are_plain_and_stay(self) -> None:
        async with self.stage() as one, self.stage() as two:
            assert one.model.name == two.model.name != ""
            assert one.model.settings == two.model.settings
            json.dumps(one.model.settings)
            one.model.settings["changed"] = True
            assert "changed" not in one.model.settings

    async def test_the_seam_version_is_declared(self) -> None:
        async with self.stage() as stage:
            assert stage.model.seam_version == MODEL_SEAM_VERSION


# -- requests --------------------------------------------------------------------------------------
def opening(index: int = 0, turn_id: str = "t1") -> Message:
    return Message(index, "user", (Text("Where is my order?"),), turn_id, "web", "attested")


def extend(messages: list[Message], reply: ModelReply) -> None:
    """What the engine would append: the reply, and a result for each call."""
    turn_id = messages[-1].turn_id
    messages.append(
        Message(
            len(messages), "assistant", reply.blocks, turn_id, "agent", "agent", stop=reply.stop
        )
    )
    for call in reply.calls:
        done = ToolResult(call.id, call.name, {"found": call.input})
        messages.append(Message(len(messages), "tool", (done,), turn_id, "tool", "tool"))


def request(model: Model, messages: Sequence[Message] = ()) -> ModelRequest:
    edition = Edition("e", "{}", model.name, "You help.", (TOOL,), model.settings)
    said = list(messages) or [opening()]
    return ModelRequest(edition, said, history=0, turn_id=said[-1].turn_id, session="web:1")


# -- reading a stream ------------------------------------------------------------------------------
async def collect(model: Model, asked: ModelRequest, into: list[ModelDelta | ModelReply]) -> None:
    async with asyncio.timeout(SOON):
        async for item in model.stream(asked):
            into.append(item)  # noqa: PERF401 - what came before an error counts


async def items(model: Model, asked: ModelRequest) -> list[ModelDelta | ModelReply]:
    got: list[ModelDelta | ModelReply] = []
    await collect(model, asked, got)
    return got


async def answer(model: Model, asked: ModelRequest) -> ModelReply:
    last = (await items(model, asked))[-1]
    assert isinstance(last, ModelReply)
    return last


async def first(stream: AsyncIterator[ModelDelta | ModelReply]) -> ModelDelta | ModelReply:
    return await anext(stream)


async def reached(stage: Stage) -> None:
    """Return once a call has come to the provider."""
    async with asyncio.timeout(SOON):
        while not stage.asked:
            await asyncio.sleep(0.005)


async def close(stream: AsyncIterator[ModelDelta | ModelReply]) -> None:
    assert isinstance(stream, AsyncGenerator), "a stream must be closable"
    await stream.aclose()
