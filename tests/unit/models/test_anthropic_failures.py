"""Whatever the socket does, the adapter raises an error of ours, of the right kind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Literal

import pytest

from gateway.engine.errors import ConfigError, GatewayError, ModelError, ModelUnavailableError
from gateway.engine.kinds import JsonObject
from gateway.engine.model import Meter, ModelReply, TextDelta, Usage
from gateway.models.anthropic import AnthropicModel, anthropic
from gateway.testing.fake_anthropic import (
    Answer,
    Call,
    Cut,
    FakeAnthropic,
    Refusal,
    Reply,
    Say,
    Think,
    overloaded,
    rate_limited,
    say,
    stream_error,
)
from gateway.testing.fake_anthropic.frames import stream
from tests.unit.models.transcripts import MODEL, Talk

KEY = "sk-ant-api03-test"


class Rig:
    """A model on a fake whose next answer a test sets."""

    def __init__(self) -> None:
        self.answer: Answer = say("Hi")
        self.fake = FakeAnthropic(lambda _: self.answer)
        self._model: AnthropicModel | None = None

    async def model(self, answer: Answer) -> AnthropicModel:
        self.answer = answer
        if self._model is None:
            self._model = anthropic(MODEL, api_key=KEY, base_url=self.fake.url)
            await asyncio.to_thread(self._model.check)
        return self._model

    async def ask(self, answer: Answer) -> ModelReply:
        model = await self.model(answer)
        items = [item async for item in model.stream(Talk().user().request())]
        assert isinstance(items[-1], ModelReply)
        return items[-1]

    async def fails(self, answer: Answer) -> ModelError:
        with pytest.raises(GatewayError) as raised:
            await self.ask(answer)
        assert isinstance(raised.value, ModelError)
        return raised.value

    async def close(self) -> None:
        if self._model is not None:
            await self._model.close()


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    rig = Rig()
    async with rig.fake:
        yield rig
        await rig.close()


@pytest.mark.parametrize("how", ["clean", "close", "reset"])
async def test_a_stream_cut_at_any_byte_is_asked_for_again(
    rig: Rig, how: Literal["clean", "close", "reset"]
) -> None:
    reply = Reply(content=[Think("Hm."), Say("Hello"), Call("lookup_order", {"order": "42"})])
    raw = stream(reply, {"model": MODEL}, 1)
    last = raw.index(b"message_stop")
    for at in [*range(0, last, 61), last]:
        error = await rig.fails(Reply(content=reply.content, cut=Cut(at, how)))
        assert isinstance(error, ModelUnavailableError), at
    assert (await rig.ask(reply)).stop == "tool_use"


async def test_a_cut_call_says_what_it_cost_as_soon_as_the_provider_charges(rig: Rig) -> None:
    said = "Once upon a time there was an order, and it was late. " * 40
    usage: JsonObject = {"input_tokens": 321, "output_tokens": 999, "cache_read_input_tokens": 7}
    raw = stream(Reply(content=[Say(said)], usage=usage), {"model": MODEL}, 1)

    async def spent(at: int) -> Usage | None:
        return (await rig.fails(Reply(content=[Say(said)], usage=usage, cut=Cut(at)))).usage

    assert await spent(20) is None
    begun = await spent(raw.index(b"content_block_start"))
    text = await spent(raw.index(b"content_block_stop"))
    told = await spent(raw.index(b"message_stop"))
    assert begun is not None
    assert (begun.input, begun.output, begun.cache_read, begun.estimated) == (321, 1, 7, True)
    assert text is not None
    assert 0.8 * len(said) / 4 < text.output <= len(said) / 4 + 1
    assert text.estimated
    assert text.cost is not None
    assert begun.cost is not None
    assert text.cost > begun.cost > 0
    assert told is not None
    assert (told.output, told.estimated) == (999, True), "by then the provider had counted"


async def test_a_whole_reply_that_is_refused_has_its_exact_bill(rig: Rig) -> None:
    usage: JsonObject = {"input_tokens": 5, "output_tokens": 64}
    for stop in ("refusal", "end_turn"):
        error = await rig.fails(Reply(content=[Think("Hm")], stop=stop, usage=usage))
        assert error.usage is not None
        assert (error.usage.input, error.usage.output) == (5, 64)
        assert not error.usage.estimated
        assert error.usage.raw == usage


async def test_an_answer_that_says_no_costs_nothing(rig: Rig) -> None:
    assert (await rig.fails(overloaded("7"))).usage is None


async def test_a_call_that_its_caller_leaves_can_still_be_read_off_its_meter(rig: Rig) -> None:
    said = Reply(content=[Say("Hello there, friend")], usage={"input_tokens": 12})
    model = await rig.model(said)
    items = model.stream(Talk().user().request())
    meter = await anext(items)
    assert isinstance(meter, Meter)
    assert meter.read() is None
    while not isinstance(await anext(items), TextDelta):
        pass
    assert isinstance(items, AsyncGenerator)
    await items.aclose()
    spent = meter.read()
    assert spent is not None
    assert (spent.input, spent.estimated) == (12, True)
    assert spent.output > 0


async def test_an_end_after_the_last_event_is_no_failure(rig: Rig) -> None:
    """The reply is whole; how the connection goes away doesn't matter any more."""
    raw = stream(say("Hello"), {"model": MODEL}, 1)
    reply = await rig.ask(Reply(content=[Say("Hello")], cut=Cut(len(raw) + 100, "reset")))
    assert reply.text == "Hello"


@pytest.mark.parametrize(
    "raw",
    [
        b"event: message_delta\ndata: {not json\n\n",
        b'data: {"type":"content_block_delta","index":7,"delta":{}}\n\n',
        b"data: \xff\xfe\n\n",
        b"data: " + b"[" * 100_000 + b"\n\n",
        b"data: " + b"x" * (9 * 1024 * 1024),
        (b'event: content_block_delta\ndata: {"type":"message_start"}\n\n'),
    ],
    ids=["not json", "no such block", "not utf-8", "nested", "endless", "started twice"],
)
async def test_a_broken_frame_is_asked_for_again(rig: Rig, raw: bytes) -> None:
    error = await rig.fails(Reply(content=[Say("Hello")], insert=[(2, raw)]))
    assert isinstance(error, ModelUnavailableError)
    assert (await rig.ask(say("Hello"))).text == "Hello"


@pytest.mark.parametrize(
    ("type_", "code", "retried"),
    [
        ("overloaded_error", None, True),
        ("rate_limit_error", None, True),
        ("rate_limit_error", "enforced_spend_limit_reached", False),
        ("invalid_request_error", None, False),
    ],
)
async def test_an_error_event_after_text_is_judged_by_its_type(
    rig: Rig, type_: str, code: str | None, retried: bool
) -> None:
    broken = (4, stream_error(type_, "Sorry", code))
    error = await rig.fails(Reply(content=[Say("Hello there, friend")], insert=[broken]))
    assert isinstance(error, ModelUnavailableError) is retried
    assert type_ in str(error)


async def test_an_answer_that_says_no_is_told_with_its_fix_and_its_id(rig: Rig) -> None:
    error = await rig.fails(Refusal(403, "permission_error", "Not for you"))
    assert "permission_error" in str(error)
    assert "Not for you" in str(error)
    assert "req_fake_" in str(error)
    assert "access" in error.fix


async def test_a_wait_that_the_provider_asks_for_reaches_the_engine(rig: Rig) -> None:
    for answer in (overloaded("7"), rate_limited("7")):
        error = await rig.fails(answer)
        assert isinstance(error, ModelUnavailableError)
        assert error.retry_after == 7.0


async def test_a_spend_limit_is_final(rig: Rig) -> None:
    error = await rig.fails(rate_limited("60", "enforced_spend_limit_reached"))
    assert not isinstance(error, ModelUnavailableError)
    assert "spend limit" in error.fix


async def test_no_answer_gets_the_key_into_a_message_or_a_cause(rig: Rig) -> None:
    error = await rig.fails(Refusal(401, "authentication_error", f"bad key {KEY}, bearer {KEY}"))
    assert KEY not in str(error)
    assert error.__cause__ is None
    assert "ANTHROPIC_API_KEY" in error.fix


@pytest.mark.parametrize("body", [b"<html>Sign in</html>", b"", b"{}"])
async def test_an_answer_that_is_no_stream_points_at_the_address(rig: Rig, body: bytes) -> None:
    error = await rig.fails(Refusal(200, "", body=body))
    assert not isinstance(error, ModelUnavailableError)
    assert "ANTHROPIC_BASE_URL" in error.fix


@pytest.mark.parametrize("status", [400, 500, 503])
@pytest.mark.parametrize("body", [b"<html>Bad gateway</html>", b"", b"[1]", b'{"error":"plain"}'])
async def test_an_error_page_of_a_proxy_is_read_by_its_status(
    rig: Rig, status: int, body: bytes
) -> None:
    error = await rig.fails(Refusal(status, "", body=body))
    assert isinstance(error, ModelUnavailableError) is (status >= 500)


@pytest.mark.parametrize(
    ("stop", "details", "match"),
    [
        ("max_tokens", None, "max_tokens"),
        ("refusal", {"type": "refusal", "category": "bio", "explanation": "No."}, "bio: No."),
        ("model_context_window_exceeded", None, "context_window"),
    ],
)
async def test_an_abnormal_stop_without_a_word_fails_for_good(
    rig: Rig, stop: str, details: JsonObject | None, match: str
) -> None:
    error = await rig.fails(Reply(content=[Think("Hm")], stop=stop, stop_details=details))
    assert not isinstance(error, ModelUnavailableError)
    assert match in str(error)


async def test_a_call_cut_by_max_tokens_comes_back_as_one_that_must_not_run(rig: Rig) -> None:
    cut = Call("issue_refund", written='{"order":"42","amount":10')
    reply = await rig.ask(Reply(content=[Say("Paying."), cut], stop="max_tokens"))
    assert reply.stop == "max_tokens"
    assert reply.calls[0].problem is not None


async def test_silence_and_a_missing_stop_are_asked_for_again(rig: Rig) -> None:
    for answer in (Reply(), Reply(content=[Say("Half")], stop=None)):
        assert isinstance(await rig.fails(answer), ModelUnavailableError)


async def test_nobody_listening_is_worth_another_try_and_a_wrong_address_is_not() -> None:
    async with FakeAnthropic() as fake:
        gone = fake.url
    for url, retried in ((gone, True), ("ftp://127.0.0.1/", False), ("127.0.0.1", False)):
        model = anthropic(MODEL, api_key=KEY, base_url=url)
        await asyncio.to_thread(model.check)
        with pytest.raises((ModelError, ConfigError)) as raised:
            await anext(model.stream(Talk().user().request()))
        assert isinstance(raised.value, ModelUnavailableError) is retried, url
        await model.close()
