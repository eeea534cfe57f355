"""The adapter on a real socket: what it sends, what it makes of answers, when it lets go."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal

import pytest
from anthropic import AsyncAnthropic

from gateway.engine.errors import ConfigError
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.messages import Reasoning, Text
from gateway.engine.model import (
    Alive,
    ModelDelta,
    ModelReply,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolSpec,
)
from gateway.engine.ports import Model
from gateway.models._wire import build, encode
from gateway.models.anthropic import Access, AnthropicModel, anthropic
from gateway.testing.fake_anthropic import (
    Call,
    FakeAnthropic,
    Reply,
    Say,
    Stall,
    Think,
    overloaded,
    ping,
    say,
)
from gateway.testing.fake_anthropic.spec import Part
from tests.unit.models.transcripts import MODEL, Talk, edition, result

KEY = "sk-ant-api03-test"


@asynccontextmanager
async def using(
    fake: FakeAnthropic, model: AnthropicModel | None = None
) -> AsyncIterator[AnthropicModel]:
    model = model or anthropic(MODEL, api_key=KEY, base_url=fake.url)
    await asyncio.to_thread(model.check)
    yield model
    await model.close()


async def ask(model: Model, asked: ModelRequest | None = None) -> list[ModelDelta | ModelReply]:
    return [item async for item in model.stream(asked or Talk().user().request())]


async def reply_to(model: Model, asked: ModelRequest | None = None) -> ModelReply:
    last = (await ask(model, asked))[-1]
    assert isinstance(last, ModelReply)
    return last


# -- what is sent ----------------------------------------------------------------------------------
async def test_the_bytes_on_the_wire_are_those_that_were_built() -> None:
    asked = Talk().user("Grüße 🙂", trust="unattested").request()
    async with FakeAnthropic([say("Hi")]) as fake, using(fake) as model:
        await ask(model, asked)
    sent = fake.requests[0]
    assert sent.raw == encode(build(asked, asked.edition.settings, MODEL))
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.headers["anthropic-version"] == "2026-10-21"


async def test_settings_come_to_what_the_model_takes() -> None:
    async with FakeAnthropic([say("Hi")]) as fake:
        model = anthropic(MODEL, api_key=KEY, base_url=fake.url, effort="low", max_tokens=50)
        async with using(fake, model):
            await ask(model, Talk().user().request(edition(settings=model.settings)))
    body = fake.requests[0].body
    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert body["output_config"] == {"effort": "low"}
    assert body["max_tokens"] == 50
    assert '"eager_input_streaming":true' in fake.requests[0].raw.decode()


async def test_an_edition_of_another_adapter_is_sent_with_our_own_settings() -> None:
    other = edition(model="scripted", settings={"provider": "scripted"})
    async with FakeAnthropic([say("Hi")]) as fake, using(fake) as model:
        await ask(model, Talk().user().request(other))
    assert fake.requests[0].body["model"] == MODEL
    assert fake.requests[0].body["max_tokens"] == 32_000


async def test_a_base_url_with_a_path_is_kept() -> None:
    async with FakeAnthropic([]) as fake:
        model = anthropic(MODEL, api_key=KEY, base_url=f"{fake.url}/proxy/claude")
        async with using(fake, model):
            with pytest.raises(Exception, match="404"):
                await ask(model)
    assert fake.requests[0].path == "/proxy/claude/v1/messages?beta=true"


async def test_the_environment_of_the_sdk_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "another")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_OPEN_TELEMETRY", "true")
    async with FakeAnthropic([say("Hi")], key=KEY) as fake, using(fake) as model:
        assert (await reply_to(model)).text == "Hi"
        assert model._client is not None
        assert model._client.open_telemetry["traces"]["enabled"] is False
        assert model._client.max_retries == 0


async def test_connections_are_used_again() -> None:
    async with FakeAnthropic([say("A"), say("B")]) as fake, using(fake) as model:
        await ask(model)
        await ask(model)
    assert [request.connection for request in fake.requests] == [1, 1]


def test_every_event_loop_gets_connections_of_its_own() -> None:
    """A pooled connection of a loop that is gone would fail the first call of the next."""
    model = anthropic(MODEL)
    texts: list[str] = []

    async def one_loop() -> None:
        async with FakeAnthropic([say("Hi")]) as fake:
            model._access = Access(api_key=KEY, base_url=fake.url)
            texts.append((await reply_to(model)).text)
            assert model._client is not None
            await (
                model._client.close()
            )  # and it stays the model's, as after a loop that was stopped

    def both() -> None:
        asyncio.run(one_loop())
        asyncio.run(one_loop())

    thread = threading.Thread(target=both)
    thread.start()
    thread.join()
    assert texts == ["Hi", "Hi"]


# -- an injected client ----------------------------------------------------------------------------
async def test_an_injected_client_is_used_without_its_retries_and_left_open() -> None:
    async with (
        FakeAnthropic([overloaded(), say("Hi")], key="theirs") as fake,
        AsyncAnthropic(api_key="theirs", base_url=fake.url, max_retries=5) as client,
    ):
        model = anthropic(MODEL, client)
        model.check()
        with pytest.raises(Exception, match="529"):
            await ask(model)
        assert len(fake.requests) == 1
        assert (await reply_to(model)).text == "Hi"
        await model.close()
        assert not client.is_closed()


async def test_the_hosts_settings_fill_in_only_what_the_author_left_open() -> None:
    async with FakeAnthropic([say("A"), say("B")], key="host") as fake:
        bare = anthropic(MODEL)
        with pytest.raises(ConfigError):
            bare.check()
        filled = bare.with_defaults(api_key="host", base_url=fake.url)
        assert filled.settings == bare.settings
        async with using(fake, filled):
            assert (await reply_to(filled)).text == "A"
        own = anthropic(MODEL, api_key="host", base_url=fake.url)
        async with using(fake, own.with_defaults(api_key="x", base_url="http://x")) as kept:
            assert (await reply_to(kept)).text == "B"
        async with AsyncAnthropic(api_key="x") as client:
            injected = anthropic(MODEL, client)
            assert injected.with_defaults(api_key="y", base_url=None) is injected


# -- what comes back -------------------------------------------------------------------------------
async def test_thinking_text_and_calls_arrive_with_their_own_names() -> None:
    kit = edition(tools=[ToolSpec("crm.find", "", {"type": "object"})])
    parts: list[Part] = [
        Think("Let me look."),
        Say("One moment."),
        Call("crm_find", {"id": 7}, id="c1"),
    ]
    async with FakeAnthropic([Reply(content=parts)]) as fake, using(fake) as model:
        *deltas, last = await ask(model, Talk().user().request(kit))
    assert isinstance(last, ModelReply)
    thinking, text, call = last.blocks
    assert isinstance(thinking, Reasoning)
    assert thinking.text == "Let me look."
    assert thinking.raw["signature"]
    assert text == Text("One moment.")
    assert last.calls == (call,)
    assert (last.calls[0].name, last.calls[0].input) == ("crm.find", {"id": 7})
    assert "".join(d.text for d in deltas if isinstance(d, ReasoningDelta)) == "Let me look."


async def test_the_bill_is_the_providers_record_priced() -> None:
    usage: JsonObject = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 5,
        "cache_read_input_tokens": 7,
        "output_tokens": 20,
        "iterations": [{"type": "compaction", "input_tokens": 180_000, "output_tokens": 0}],
    }
    script = [Reply(content=[Say("Hi")], usage=usage, model="claude-opus-5-5")]
    async with FakeAnthropic(script) as fake, using(fake) as model:
        bill = (await reply_to(model)).usage
    assert (bill.input, bill.cache_write, bill.cache_read, bill.output) == (10, 5, 7, 20)
    assert bill.context == 42
    assert bill.raw == usage
    assert bill.cost is not None
    assert bill.cost > Decimal("0.72"), "compaction is billed, though not part of the context"


@pytest.mark.parametrize("told", [-5, 10**18, True, 7.5, "7", [7]])
async def test_what_counts_no_tokens_is_kept_and_not_added(told: Json) -> None:
    script = [Reply(content=[Say("Hi")], usage={"input_tokens": 3, "output_tokens": told})]
    async with FakeAnthropic(script) as fake, using(fake) as model:
        bill = (await reply_to(model)).usage
    assert (bill.input, bill.output) == (3, 0)


async def test_a_tool_loop_on_bound_thinking_is_taken_by_the_strict_fake() -> None:
    """Each thinking block is bound to every byte before it, so one change would be refused."""
    think = Think("Hm.")
    script = [
        Reply(content=[think, Call("lookup_order", {"order": "1"})]),
        Reply(content=[think, Say("Found."), think, Call("issue_refund", {})]),
        Reply(content=[think, Say("Done.")]),
        Reply(content=[Say("Bye.")]),
    ]
    talk = Talk().user(trust="unattested")
    async with FakeAnthropic(script) as fake, using(fake) as model:
        for _ in range(3):
            got = await reply_to(model, talk.request())
            talk.model(got.blocks, got.stop)
            talk.tool(*(result(call.id, {"ok": True}, call.name) for call in got.calls))
        changed = edition(system="New instructions.")
        length = len(talk.messages)
        talk.user("And now?")
        with pytest.raises(Exception, match="different conversation"):
            await ask(model, talk.request(changed))
        assert (await reply_to(model, talk.request(changed, history=length))).text == "Bye."


# -- liveness and leaving --------------------------------------------------------------------------
async def test_pings_count_as_a_sign_of_life() -> None:
    pings = [(1, ping())] * 40
    script = [Reply(content=[Say("Hi")], insert=pings, piece=30, stall=Stall(1500, 1.1))]
    async with FakeAnthropic(script) as fake, using(fake) as model:
        items = await ask(model)
    first_text = next(n for n, item in enumerate(items) if isinstance(item, TextDelta))
    assert items[:first_text].count(Alive()) >= 2, "one for the headers, one for the pings"


async def test_silence_longer_than_allowed_is_a_lost_connection() -> None:
    script = [Reply(content=[Say("Hello there")], stall=Stall(400, 30.0))]
    async with FakeAnthropic(script) as fake:
        patient = anthropic(MODEL, api_key=KEY, base_url=fake.url)
        model = AnthropicModel(MODEL, patient.settings, Access(None, KEY, fake.url, silence=1.0))
        async with using(fake, model):
            with pytest.raises(Exception, match="Timeout"):
                await ask(model)
        await fake.requests[0].done.wait()
        assert fake.requests[0].hung_up


async def test_closing_the_iterator_closes_the_socket() -> None:
    script = [Reply(content=[Say("Hello there")], stall=Stall(600, 30.0))]
    async with FakeAnthropic(script) as fake, using(fake) as model:
        stream = model.stream(Talk().user().request())
        while not isinstance(await anext(stream), TextDelta):
            pass
        await stream.aclose()
        async with asyncio.timeout(5):
            await fake.requests[0].done.wait()
        assert fake.requests[0].hung_up
