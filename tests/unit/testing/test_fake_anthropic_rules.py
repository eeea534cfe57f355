"""The fake refuses what the API refuses, and takes what it takes. The real SDK asks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast

import anthropic
import pytest

from gateway.engine.kinds import Json, JsonObject
from gateway.testing.fake_anthropic import FakeAnthropic, Reply, Say, Think
from gateway.testing.fake_anthropic.params import Rejected, check_params
from gateway.testing.fake_anthropic.transcript import check_transcript

HELLO: JsonObject = {"role": "user", "content": "Hello"}
TEXT: JsonObject = {"type": "text", "text": "x"}
IMAGE: JsonObject = {"type": "image"}
TOOL: JsonObject = {"name": "look_up", "input_schema": {"type": "object"}}
MARK: JsonObject = {"type": "ephemeral"}


def use(call_id: str = "a", **more: Json) -> JsonObject:
    return {"type": "tool_use", "id": call_id, "name": "look_up", "input": {}, **more}


def answer(call_id: str = "a", **more: Json) -> JsonObject:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "ok", **more}


def user(*content: JsonObject) -> JsonObject:
    return {"role": "user", "content": list(content)}


def model(*content: JsonObject) -> JsonObject:
    return {"role": "assistant", "content": list(content)}


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([], "at least one"),
        ([model(TEXT), HELLO], "first message"),
        ([{"role": "bot", "content": "x"}], "role"),
        ([user()], "non-empty content"),
        ([HELLO, model(), HELLO], "non-empty content"),
        ([user({"type": "text", "text": ""})], "non-whitespace"),
        ([HELLO, model({"type": "text", "text": " \n"}), HELLO], "non-whitespace"),
        ([HELLO, model(use()), user(answer(content=[{"type": "text", "text": ""}]))], "non-whitespace"),
        ([user({"type": "text", "text": "\ud800"})], "Unicode"),
        ([user({"type": "text", "text": "\x00"})], "Unicode"),
        ([HELLO, model(TEXT)], "prefill"),
        ([HELLO, model(use()), HELLO], "immediately after"),
        ([HELLO, model(use("a"), use("b")), user(answer("a")), user(answer("b"))], "immediately after"),
        ([user(answer())], "unexpected"),
        ([HELLO, model(TEXT), user(answer())], "unexpected"),
        ([HELLO, model(use()), user(answer(), answer())], "single result"),
        ([HELLO, model(use()), user(answer()), model(use()), user(answer())], "unique"),
        ([HELLO, model(use("a"), use("a")), user(answer("a"))], "unique"),
        ([HELLO, model(use()), user(TEXT, answer())], "first"),
        ([HELLO, model(use(name="a b")), user(answer())], "name"),
        ([HELLO, model(use("a b")), user(answer("a b"))], "id"),
        ([HELLO, model(use(input=[])), user(answer())], "dictionary"),
        ([user(use())], "only permitted in assistant"),
        ([HELLO, model({"type": "document"}), HELLO], "not permitted in assistant"),
        ([user({**TEXT, "citations": [{}]})], "citations"),
        ([user({"type": "thinking"})], "only permitted in assistant"),
        ([HELLO, model({"type": "thinking", "thinking": "x"}, TEXT), HELLO], "signature: Field required"),
        ([HELLO, model({"type": "redacted_thinking", "data": "x"}, TEXT), HELLO], "different conversation"),
        ([HELLO, model({"type": "thinking", "thinking": "x", "signature": "x"}), HELLO], "final block"),
        ([user(*[IMAGE] * 601)], "images"),
    ],
)  # fmt: skip
def test_transcripts_the_api_refuses(messages: list[Json], why: str) -> None:
    with pytest.raises(Rejected, match=why):
        check_transcript({"messages": messages})


@pytest.mark.parametrize(
    "messages",
    [
        [HELLO],
        [HELLO, HELLO],
        [HELLO, model(TEXT), HELLO],
        [HELLO, model(TEXT, use("a"), use("b")), user(answer("b"), answer("a"))],
        [HELLO, model(use()), user(answer(), TEXT)],
        [HELLO, model(use()), user({"type": "tool_result", "tool_use_id": "a"})],
        [HELLO, model(use()), user(answer(content=[{"type": "image", "source": {}}]))],
        [HELLO, model({"type": "hologram"}), HELLO],
        [HELLO, model(TEXT, {"type": "server_tool_use"})],
    ],
)
def test_transcripts_the_api_takes(messages: list[Json]) -> None:
    check_transcript({"messages": messages})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"temperature": 1.0}, "temperature"),
        ({"top_k": 5}, "top_k"),
        ({"n": 2}, "Extra inputs"),
        ({"model": ""}, "model"),
        ({"max_tokens": None}, "max_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": 200_000}, "maximum"),
        ({"max_tokens": 100_000, "model": "claude-haiku-4-5"}, "maximum"),
        ({"thinking": {"type": "disabled"}}, "cannot be disabled"),
        ({"thinking": {"type": "disabled"}, "model": "claude-fable-5-1"}, "cannot be disabled"),
        ({"thinking": {"type": "disabled"}, "model": "claude-sonnet-5-5"}, "cannot be disabled"),
        ({"thinking": {"type": "between_tools"}}, "between_tools"),
        ({"thinking": {"type": "enabled", "budget_tokens": 2000}}, "budgets"),
        ({"thinking": {"type": "adaptive"}, "model": "claude-opus-4-5"}, "adaptive"),
        ({"thinking": {"type": "enabled", "budget_tokens": 10}, "model": "claude-opus-4-5"}, "1024"),
        ({"thinking": {"type": "enabled", "budget_tokens": 5000}, "model": "claude-opus-4-5"}, "greater"),
        ({"thinking": {"type": "maybe"}}, "thinking.type"),
        ({"output_config": {"effort": "huge"}}, "effort"),
        ({"output_config": {"effort": "low"}, "model": "claude-haiku-4-5"}, "effort"),
        ({"tool_choice": {"type": "any"}, "tools": [TOOL]}, "forcing"),
        ({"tool_choice": {"type": "tool", "name": "look_up"}, "tools": [TOOL]}, "forcing"),
        ({"tools": [{**TOOL, "name": "a.b"}]}, "pattern"),
        ({"tools": [{**TOOL, "name": "x" * 129}]}, "pattern"),
        ({"tools": [TOOL, TOOL]}, "unique"),
        ({"tools": [{"name": "x", "input_schema": {"type": "array"}}]}, "object"),
        ({"system": [{"type": "text", "text": " "}]}, "non-whitespace"),
        ({"system": [{**TEXT, "cache_control": MARK}] * 4, "cache_control": MARK}, "maximum of 4"),
        ({"messages": [user({"type": "text", "text": "", "cache_control": MARK})]}, "empty text"),
        ({"messages": [model({"type": "thinking", "cache_control": MARK})]}, "thinking blocks"),
    ],
)  # fmt: skip
def test_parameters_the_api_refuses(change: JsonObject, why: str) -> None:
    with pytest.raises(Rejected, match=why):
        check_params({"model": "claude-opus-5-5", "max_tokens": 4000, **change})


# -- thinking is bound to what came before it ------------------------------------------------------
@pytest.fixture
async def client() -> AsyncIterator[anthropic.AsyncAnthropic]:
    script = Reply(content=[Think("One"), Say("Hello"), Think("Two"), Say("Bye")])
    async with (
        FakeAnthropic(lambda _: script) as fake,
        anthropic.AsyncAnthropic(api_key="k", base_url=fake.url, max_retries=0) as sdk,
    ):
        yield sdk


async def send(client: anthropic.AsyncAnthropic, **request: object) -> list[JsonObject]:
    body = {"model": "claude-opus-5-5", "max_tokens": 100, **request}
    answered = await client.post("/v1/messages", cast_to=dict[str, object], body=body)
    return cast("list[JsonObject]", answered["content"])


async def test_an_unchanged_conversation_keeps_its_thinking(
    client: anthropic.AsyncAnthropic,
) -> None:
    first = await send(client, messages=[HELLO], system="A")
    second = await send(client, messages=[HELLO, model(*first), HELLO], system="A")
    again = [HELLO, model(*first), HELLO, model(*second), HELLO]
    await send(client, messages=again, system=[{"type": "text", "text": "A"}][0]["text"])
    marked = [{"type": "text", "text": "x", "cache_control": MARK}]
    await send(client, messages=[*again, {"role": "user", "content": marked}], system="A")


async def test_thinking_may_be_left_out_from_the_start(client: anthropic.AsyncAnthropic) -> None:
    first = await send(client, messages=[HELLO])
    second = await send(client, messages=[HELLO, model(*first), HELLO])
    bare = [block for block in first if block["type"] == "text"]
    await send(client, messages=[HELLO, model(*bare), HELLO, model(*second), HELLO])
    await send(client, messages=[HELLO, model(*first[1:]), HELLO, model(*second), HELLO])


async def test_any_other_change_is_refused(client: anthropic.AsyncAnthropic) -> None:
    first = await send(client, messages=[HELLO], tools=[TOOL])
    think, say, think_two, bye = first
    changes: list[dict[str, object]] = [
        {"system": "B"},
        {"tools": [{**TOOL, "description": "new"}]},
        {"tools": []},
        {"messages": [user({"type": "text", "text": "Hello!"}), model(*first), HELLO]},
        {"messages": [HELLO, model({**think, "thinking": "Uno"}, say), HELLO]},
        {"messages": [HELLO, model({**think, "signature": think_two["signature"]}, say), HELLO]},
        {"messages": [HELLO, model(think_two, say, think, bye), HELLO]},
        {"messages": [HELLO, model(think, say, {**think_two, "signature": "bWFkZSB1cA=="}), HELLO]},
    ]
    whole: dict[str, object] = {"messages": [HELLO, model(*first), HELLO], "tools": [TOOL]}
    await send(client, **whole)
    for change in changes:
        with pytest.raises(anthropic.BadRequestError, match=r"bound to|non-empty"):
            await send(client, **{**whole, **change})
    third = await send(client, **whole)
    gap = [HELLO, model(think, say), HELLO, model(*third), HELLO]
    with pytest.raises(anthropic.BadRequestError, match="bound to"):
        await send(client, messages=gap, tools=[TOOL])
