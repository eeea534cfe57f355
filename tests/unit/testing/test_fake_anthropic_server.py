"""The fake as a server: what it answers, how it fails, what it remembers. The real SDK asks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Literal, cast

import anthropic
import httpx2
import pytest
from anthropic.types.beta import BetaMessage

from gateway.engine.kinds import JsonObject
from gateway.testing.fake_anthropic import (
    Block,
    Call,
    Cut,
    FakeAnthropic,
    Refusal,
    Reply,
    Say,
    Script,
    Stall,
    Think,
    canned,
    overloaded,
    ping,
    rate_limited,
    say,
    serve,
    stream_error,
)
from gateway.testing.fake_anthropic.spec import Part

MODEL = "claude-opus-5-5"
TOOLS: list[JsonObject] = [
    {"name": "daily_digest", "input_schema": {"type": "object"}},
    {
        "name": "refund_order",
        "input_schema": {
            "type": "object",
            "properties": {
                "order_id": {"type": "string"}, "amount": {"type": "number"},
                "lines": {"type": "integer"}, "notify": {"type": "boolean"},
                "kind": {"enum": ["full", "part"]}, "tags": {"type": "array"},
                "more": {"type": "object"}, "skipped": {"type": "string"},
            },
            "required": ["order_id", "amount", "lines", "notify", "kind", "tags", "more"],
        },
    },
]  # fmt: skip


@asynccontextmanager
async def asking(
    script: Script = canned,
) -> AsyncIterator[tuple[FakeAnthropic, anthropic.AsyncAnthropic]]:
    async with (
        FakeAnthropic(script) as fake,
        anthropic.AsyncAnthropic(api_key="k", base_url=fake.url, max_retries=0) as client,
    ):
        yield fake, client


def hello(text: object = "Hello", **more: object) -> dict[str, object]:
    said = [{"role": "user", "content": text}]
    return {"model": MODEL, "max_tokens": 100, "messages": said, **more}


async def streamed(client: anthropic.AsyncAnthropic, **more: object) -> BetaMessage:
    api: Any = client.beta.messages
    async with api.stream(**hello(**more)) as stream:
        return cast("BetaMessage", await stream.get_final_message())


async def whole(client: anthropic.AsyncAnthropic, **more: object) -> BetaMessage:
    api: Any = client.beta.messages
    return cast("BetaMessage", await api.create(**hello(**more)))


async def raw(client: anthropic.AsyncAnthropic) -> bytes:
    """The body of a streamed answer, as far as it came."""
    got = b""
    api: Any = client.beta.messages
    async with api.with_streaming_response.create(stream=True, **hello()) as response:
        with suppress(httpx2.HTTPError):
            async for chunk in response.iter_bytes():
                got += chunk
    return got


# -- answers ---------------------------------------------------------------------------------------
async def test_the_sdk_reads_a_reply_with_every_kind_of_block() -> None:
    parts: list[Part] = [
        Think("Hm"),
        Think(redacted=True),
        Say("Hello 🙂"),
        Call("look_up", {"q": "é"}, id="c1"),
    ]
    async with asking([Reply(content=parts)]) as (_, client):
        message = await streamed(client)
    thinking, redacted, text, call = message.content
    assert thinking.type == "thinking"
    assert thinking.thinking == "Hm"
    assert thinking.signature
    assert redacted.type == "redacted_thinking"
    assert text.type == "text"
    assert text.text == "Hello 🙂"
    assert call.type == "tool_use"
    assert (call.id, call.name, call.input) == ("c1", "look_up", {"q": "é"})
    assert message.stop_reason == "tool_use"


async def test_the_same_reply_without_a_stream() -> None:
    parts: list[Part] = [
        Think("Hm"),
        Say("Hello"),
        Call("look_up", {"q": 1}),
        Call("x", written="{"),
    ]
    async with asking([Reply(content=parts, stop="max_tokens")]) as (_, client):
        message = await whole(client)
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use", "tool_use"]
    assert message.content[2].to_dict()["input"] == {"q": 1}
    assert message.stop_reason == "max_tokens"


async def test_a_bill_with_cache_and_iterations() -> None:
    iteration: JsonObject = {
        "type": "compaction", "input_tokens": 9, "output_tokens": 1,
        "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
    }  # fmt: skip
    usage: JsonObject = {
        "input_tokens": 3, "output_tokens": 5, "cache_creation_input_tokens": 7,
        "cache_read_input_tokens": 11, "iterations": [iteration],
    }  # fmt: skip
    async with asking([Reply(content=[Say("Hi")], usage=usage)]) as (_, client):
        bill = (await streamed(client)).usage
    assert (bill.input_tokens, bill.output_tokens) == (3, 5)
    assert (bill.cache_creation_input_tokens, bill.cache_read_input_tokens) == (7, 11)
    assert bill.iterations is not None
    assert bill.iterations[0].type == "compaction"


async def test_blocks_and_stops_of_any_kind() -> None:
    strange = Block({"type": "hologram", "a": 1}, deltas=({"type": "odd", "b": "2"},))
    details: JsonObject = {"type": "refusal", "category": "cyber", "explanation": "No."}
    reply = Reply(content=[strange], stop="refusal", stop_details=details)
    async with asking([reply]) as (_, client):
        message = await streamed(client)
    assert message.content[0].to_dict()["type"] == "hologram"
    assert message.stop_reason == "refusal"
    assert message.stop_details is not None
    assert message.stop_details.category == "cyber"


@pytest.mark.parametrize(
    ("answer", "error", "wait"),
    [
        (overloaded("3"), anthropic._exceptions.OverloadedError, "3"),
        (rate_limited("9"), anthropic.RateLimitError, "9"),
        (rate_limited(code="ramp_limit_exceeded"), anthropic.RateLimitError, None),
        (Refusal(402, "billing_error", "Pay"), anthropic._exceptions.PaymentRequiredError, None),
        (Refusal(500, "", body=b"<html>"), anthropic.InternalServerError, None),
    ],
)
async def test_answers_that_say_no(
    answer: Refusal, error: type[anthropic.APIStatusError], wait: str | None
) -> None:
    async with asking([answer]) as (_, client):
        with pytest.raises(error) as raised:
            await streamed(client)
    assert raised.value.response.headers.get("retry-after") == wait
    assert raised.value.error_code == answer.code


async def test_a_script_that_ran_out_says_so() -> None:
    async with asking([say("Hi")]) as (_, client):
        await streamed(client)
        with pytest.raises(anthropic.InternalServerError, match="no more answers"):
            await streamed(client)


async def test_a_malformed_request_is_refused_before_the_script_is_asked() -> None:
    async with asking([say("Hi")]) as (fake, client):
        with pytest.raises(anthropic.BadRequestError, match="non-whitespace"):
            await streamed(client, text=" ")
        assert (await streamed(client)).content
        assert "non-whitespace" in (fake.requests[0].rejected or "")
        assert fake.requests[1].rejected is None


async def test_counting_tokens_follows_the_same_rules() -> None:
    request = {"model": MODEL, "messages": [{"role": "user", "content": "x" * 400}]}
    async with asking() as (_, client):
        api: Any = client.beta.messages
        counted = await api.count_tokens(**request)
        assert counted.input_tokens > 100
        with pytest.raises(anthropic.BadRequestError):
            await client.beta.messages.count_tokens(model=MODEL, messages=[])


async def test_the_catalogue_of_models() -> None:
    async with asking() as (_, client):
        found = await client.models.retrieve(MODEL)
        assert (found.max_tokens, found.max_input_tokens) == (128_000, 1_000_000)
        assert found.lifecycle == "active"
        assert MODEL in [model.id async for model in client.models.list()]
        with pytest.raises(anthropic.NotFoundError):
            await client.models.retrieve("gpt-9")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"authorization": "Bearer right"}, 404),
        ({"x-api-key": "right"}, 404),
        ({"authorization": "Bearer wrong"}, 401),
        ({"x-api-key": "wrong"}, 401),
        ({"authorization": "Basic right"}, 401),
        ({}, 401),
    ],
)
async def test_keys(headers: dict[str, str], status: int) -> None:
    async with FakeAnthropic(key="right") as fake, httpx2.AsyncClient() as http:
        answer = await http.get(f"{fake.url}/v1/none", headers=headers)
    assert answer.status_code == status


async def test_what_is_no_json_is_refused() -> None:
    async with FakeAnthropic() as fake, httpx2.AsyncClient() as http:
        for content in (b"{", b"[1]", b"[" * 100_000):
            answer = await http.post(
                f"{fake.url}/v1/messages", content=content, headers={"x-api-key": "k"}
            )
            assert answer.status_code == 400
        too_large = await http.post(
            f"{fake.url}/v1/messages", content=b" " * (32 * 2**20 + 1), headers={"x-api-key": "k"}
        )
    assert too_large.status_code == 413


# -- faults ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("how", ["clean", "close", "reset"])
async def test_a_cut_is_exact_to_the_byte(how: Literal["clean", "close", "reset"]) -> None:
    async with asking([say("Hello")]) as (_, client):
        complete = await raw(client)
    async with asking([Reply(content=[Say("Hello")], cut=Cut(217, how))]) as (fake, client):
        part = await raw(client)
        assert fake.requests[0].sent == 217
    assert complete.startswith(part)
    assert len(part) == 217 or how == "reset"  # a reset may overtake what was sent


async def test_a_stall_holds_the_stream_at_its_byte() -> None:
    async with asking([Reply(content=[Say("Hello")], stall=Stall(100, 0.3))]) as (_, client):
        begin = time.monotonic()
        assert b"message_stop" in await raw(client)
        assert time.monotonic() - begin >= 0.3


async def test_pieces_pings_errors_and_broken_frames_go_where_the_script_puts_them() -> None:
    inserted = [(1, ping()), (2, stream_error("overloaded_error", "Sorry")), (-1, b"data: {\n\n")]
    async with asking([Reply(content=[Say("Hello")], piece=7, insert=inserted)]) as (_, client):
        events = (await raw(client)).split(b"\n\n")
    assert b"message_start" in events[0]
    assert b"ping" in events[1]
    assert b"overloaded_error" in events[3]
    assert events[-2] == b"data: {"


async def test_a_client_that_leaves_is_noticed_also_during_a_stall() -> None:
    stalled = Reply(content=[Say("Hello")], stall=Stall(50, 60.0))
    async with asking([stalled]) as (fake, client), asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(raw(client))
        while not fake.requests:
            await asyncio.sleep(0.005)
        reading.cancel()
        await fake.requests[0].done.wait()
        assert fake.requests[0].hung_up


async def test_what_is_no_http_ends_the_connection_and_nothing_else() -> None:
    async with asking([say("Hi")]) as (fake, client):
        port = int(fake.url.rsplit(":", 1)[1])
        for junk in (
            b"\r\n\r\n",
            b"GET\r\n\r\n",
            b"POST /v1/messages HTTP/1.1\r\ncontent-length: x\r\n\r\n",
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(junk)
            assert await reader.read() == b""
            writer.close()
            await writer.wait_closed()
        assert (await streamed(client)).content


# -- by hand ---------------------------------------------------------------------------------------
async def test_the_canned_model_echoes_calls_a_tool_and_reports() -> None:
    async with asking() as (_, client):
        echo = await streamed(client, text="Good morning", tools=TOOLS)
        assert echo.content[-1].to_dict()["text"] == "You said: Good morning"
        asked = await streamed(client, text="Please refund order 42", tools=TOOLS)
        call = asked.content[-1].to_dict()
        assert call["name"] == "refund_order"
        assert call["input"] == {
            "order_id": "42", "amount": 42.0, "lines": 42, "notify": True, "kind": "full",
            "tags": [], "more": {},
        }  # fmt: skip
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": "paid"}
        messages = [
            {"role": "user", "content": "Please refund order 42"},
            {"role": "assistant", "content": [block.to_dict() for block in asked.content]},
            {"role": "user", "content": [result]},
        ]
        answer = await whole(client, messages=messages, tools=TOOLS)
        assert answer.content[-1].to_dict()["text"] == "The tool answered: paid"


async def test_asked_to_use_a_tool_it_takes_the_first() -> None:
    async with asking() as (_, client):
        asked = await streamed(client, text="Use whatever you have", tools=TOOLS)
    assert asked.content[-1].to_dict()["name"] == "daily_digest"


async def test_it_can_be_served_until_it_is_told_to_stop() -> None:
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    async with asyncio.TaskGroup() as tasks:
        server = tasks.create_task(serve(ready=address.set_result))
        async with anthropic.AsyncAnthropic(api_key="k", base_url=await address) as client:
            assert (await streamed(client)).content
        server.cancel()
