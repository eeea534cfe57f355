"""The scripted model passes the suite, and what it adds for authors and benchmarks."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import cast

import pytest
from typing_extensions import override

from gateway.engine.errors import ConfigError, ModelError, ModelUnavailableError
from gateway.engine.kinds import Json
from gateway.engine.messages import Block, Text, ToolCall
from gateway.engine.model import ModelReply, ModelRequest, TextDelta
from gateway.models.scripted import STOPS, ScriptedModel
from tests.conformance.model_suite import TALE, Answer, ModelSuite, Stage, answer, items, request


class _Stage:
    def __init__(self, answers: list[Answer]) -> None:
        self.model = ScriptedModel(self._reply)
        self.asked = 0
        self._answers = answers
        self._left = asyncio.Event()

    async def abandoned(self) -> None:
        await self._left.wait()

    async def _reply(self, _: ModelRequest) -> ModelReply:
        self.asked += 1
        match self._answers.pop(0):
            case "unavailable" | "cut":
                raise ModelUnavailableError("overloaded")
            case "refused":
                raise ModelError("no")
            case "stall":
                try:
                    await asyncio.Event().wait()
                finally:
                    self._left.set()
            case ModelReply() as reply:
                return reply
        raise AssertionError


class TestScriptedModel(ModelSuite):
    @override
    def stage(self, *answers: Answer) -> AbstractAsyncContextManager[Stage]:
        @asynccontextmanager
        async def made() -> AsyncIterator[Stage]:
            yield _Stage(list(answers))

        return made()

    async def test_a_plain_function_will_do(self) -> None:
        model = ScriptedModel(lambda asked: ModelReply.say(f"You said: {asked.text}"))
        assert (await answer(model, request(model))).text == "You said: Where is my order?"

    async def test_a_missing_call_id_is_made_of_the_calls_place(self) -> None:
        """Equal on every replay, and accepted by providers, should the conversation move to one."""
        two = ModelReply((Text("Hm"), ToolCall("", "a", {}), ToolCall("mine", "b", {})))
        model = ScriptedModel(lambda _: two)
        reply = await answer(model, request(model))
        assert [call.id for call in reply.calls] == ["call_1_1", "mine"]
        assert reply.stop == "tool_use"

    @pytest.mark.parametrize(("chunks", "most"), [(0, 0), (1, 1), (3, 3), (100, 16)])
    async def test_text_is_cut_between_words_into_so_many_pieces(
        self, chunks: int, most: int
    ) -> None:
        model = ScriptedModel(lambda _: ModelReply.say(TALE), chunks=chunks)
        *deltas, _ = await items(model, request(model))
        texts = [delta.text for delta in deltas if isinstance(delta, TextDelta)]
        assert len(texts) <= most
        assert "".join(texts) == (TALE if chunks else "")
        assert all(text.endswith(" ") for text in texts[:-1])

    async def test_a_reply_without_text_streams_nothing(self) -> None:
        model = ScriptedModel(lambda _: ModelReply.call("a"))
        assert len(await items(model, request(model))) == 1

    async def test_latency_is_spread_over_the_pieces(self) -> None:
        model = ScriptedModel(lambda _: ModelReply.say(TALE), latency=0.2)
        begin = time.monotonic()
        arrived = [time.monotonic() - begin async for _ in model.stream(request(model))]
        assert 0.02 < arrived[0] < arrived[1] < arrived[-1]
        assert arrived[-1] >= 0.19

    async def test_what_reply_raises_is_a_model_error_with_its_cause(self) -> None:
        def broken(_: ModelRequest) -> ModelReply:
            raise KeyError("order")

        model = ScriptedModel(broken)
        with pytest.raises(ModelError, match="KeyError") as raised:
            await answer(model, request(model))
        assert isinstance(raised.value.__cause__, KeyError)

    async def test_a_script_that_leaves_does_not_take_the_process_along(self) -> None:
        def leaving(_: ModelRequest) -> ModelReply:
            raise SystemExit(3)

        model = ScriptedModel(leaving)
        with pytest.raises(ModelError, match="SystemExit"):
            await answer(model, request(model))

    @pytest.mark.parametrize(
        ("reply", "told"),
        [
            (ModelReply.call("pay", amount=float("nan")), "calls pay with what isn't JSON"),
            (
                ModelReply.call("pay", amount=cast("Json", object())),
                "calls pay with what isn't JSON",
            ),
            (ModelReply.call("pay", amount=10**5000), "calls pay with what isn't JSON"),
            (ModelReply.say(cast("str", 5)), "says int"),
            (ModelReply(cast("tuple[Block, ...]", (5,))), "holds int"),
        ],
    )
    async def test_a_reply_that_can_not_be_stored_is_an_error(
        self, reply: ModelReply, told: str
    ) -> None:
        model = ScriptedModel(lambda _: reply)
        with pytest.raises(ModelError, match=told) as raised:
            await answer(model, request(model))
        assert raised.value.fix

    async def test_a_stop_that_no_model_knows_is_an_error_that_names_the_known_ones(self) -> None:
        model = ScriptedModel(lambda _: ModelReply((Text("Hi"),), stop="end-turn"))
        with pytest.raises(ModelError, match="'end-turn'") as raised:
            await answer(model, request(model))
        assert "end_turn" in raised.value.fix
        assert "max_tokens" in raised.value.fix

    @pytest.mark.parametrize("stop", sorted(STOPS))
    async def test_every_known_stop_may_be_played(self, stop: str) -> None:
        model = ScriptedModel(lambda _: ModelReply((Text("Hi"),), stop=stop))
        assert (await answer(model, request(model))).stop == stop

    async def test_an_error_of_the_gateways_own_passes_as_it_is(self) -> None:
        def broken(_: ModelRequest) -> ModelReply:
            raise ConfigError("no script", fix="write one")

        model = ScriptedModel(broken)
        with pytest.raises(ConfigError, match="no script"):
            await answer(model, request(model))

    async def test_anything_but_a_reply_is_an_error_that_says_what_to_return(self) -> None:
        model = ScriptedModel(lambda _: "Hello")  # type: ignore[arg-type, return-value]
        with pytest.raises(ModelError, match="str") as raised:
            await answer(model, request(model))
        assert "ModelReply.say" in raised.value.fix

    async def test_thousands_of_replies_a_second(self) -> None:
        """Benchmarks measure the engine, so the model must not be what they measure. The bound is
        loose for a busy machine: 2,000 replies take about 20 ms by themselves."""
        model = ScriptedModel(lambda _: ModelReply.call("a"), chunks=0)
        asked = request(model)
        begin = time.process_time()
        for _ in range(2000):
            async for _item in model.stream(asked):
                pass
        assert time.process_time() - begin < 1.0

    def test_importing_it_loads_no_sdk(self) -> None:
        script = (
            "import sys; import gateway.models.scripted;"
            "heavy = {'anthropic', 'httpx2', 'genai_prices', 'pydantic', 'aiohttp'};"
            "print(sorted(heavy & set(sys.modules)))"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=20
        )
        assert done.stdout.strip() == "[]"
