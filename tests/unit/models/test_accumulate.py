"""A stream becomes one reply, whatever its bytes were cut into, and its deltas add up to it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.engine.kinds import Json, JsonObject
from gateway.engine.messages import Opaque, Reasoning, Text, ToolCall
from gateway.engine.model import ModelDelta, ReasoningDelta, TextDelta, ToolInputDelta
from gateway.models._accumulate import Accumulator, Message, StreamBroken, StreamError
from gateway.models._sse import Decoder
from gateway.testing.fake_anthropic import Block, Call, Reply, Say, Think
from gateway.testing.fake_anthropic.frames import stream
from gateway.testing.fake_anthropic.spec import Part

REQUEST: JsonObject = {"model": "claude-opus-5-5", "messages": []}

_parts: st.SearchStrategy[Part] = st.one_of(
    st.builds(Say, st.text(max_size=40)),
    st.builds(Think, st.text(max_size=40), redacted=st.booleans(), signed=st.booleans()),
    st.builds(
        Call,
        st.just("look_up"),
        st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=20), max_size=4),
    ),
    st.builds(
        Block, st.builds(lambda text: cast("JsonObject", {"type": "odd", "x": text}), st.text())
    ),
)
_replies = st.builds(
    Reply,
    content=st.lists(_parts, max_size=4),
    delta=st.integers(1, 9),
    stop=st.sampled_from(["", "end_turn", "max_tokens"]),
)


def run(chunks: Sequence[bytes], accumulator: Accumulator) -> list[ModelDelta]:
    decoder = Decoder(10**7)
    return [
        delta
        for chunk in chunks
        for frame in decoder.feed(chunk)
        for delta in accumulator.feed(frame.event, frame.data)
    ]


def fresh(clock: Iterator[float] | None = None, limit: int = 10**7) -> Accumulator:
    ticks = clock or iter(lambda: 0.0, 1.0)
    return Accumulator({"look_up": "look.up"}, limit=limit, clock=lambda: next(ticks))


@given(_replies, st.data())
def test_any_cutting_of_the_bytes_gives_the_same_reply(reply: Reply, data: st.DataObject) -> None:
    raw = stream(reply, REQUEST, 1)
    whole, cut = fresh(), fresh()
    places = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=8)))
    one = run([raw], whole)
    two = run([raw[a:b] for a, b in zip([0, *places], [*places, len(raw)], strict=True)], cut)
    assert whole.done
    assert cut.done
    assert whole.message() == cut.message()
    assert one == two


@given(_replies)
def test_deltas_add_up_to_the_blocks(reply: Reply) -> None:
    accumulator = fresh()
    shown: dict[int, str] = {}
    for delta in run([stream(reply, REQUEST, 1)], accumulator):
        if isinstance(delta, TextDelta | ReasoningDelta):
            assert delta.offset == len(shown.get(delta.block, ""))
            shown[delta.block] = shown.get(delta.block, "") + delta.text
    blocks = accumulator.message().blocks
    assert len(blocks) == len(reply.content)
    for index, block in enumerate(blocks):
        if isinstance(block, Text | Reasoning):
            assert shown.get(index, "") == block.text


# -- blocks, one by one --------------------------------------------------------------------------
def events(*blocks: tuple[JsonObject, Sequence[JsonObject]], stop: str = "end_turn") -> list[str]:
    out: list[JsonObject] = [{"type": "message_start", "message": {"model": "m", "usage": {}}}]
    for index, (start, deltas) in enumerate(blocks):
        out.append({"type": "content_block_start", "index": index, "content_block": start})
        out += [{"type": "content_block_delta", "index": index, "delta": d} for d in deltas]
        out.append({"type": "content_block_stop", "index": index})
    out += [{"type": "message_delta", "delta": {"stop_reason": stop}}, {"type": "message_stop"}]
    return [json.dumps(event) for event in out]


def read(lines: Sequence[str], accumulator: Accumulator | None = None) -> Message:
    accumulator = accumulator or fresh()
    for line in lines:
        accumulator.feed("", line)
    assert accumulator.done
    return accumulator.message()


def test_thinking_is_kept_as_the_provider_sent_it() -> None:
    start: JsonObject = {"type": "thinking", "thinking": "", "signature": "", "extra": {"a": 1}}
    (block,) = read(
        events((start, [{"thinking": "Le"}, {"thinking": "t me"}, {"signature": "s1"}]))
    ).blocks
    assert block == Reasoning(
        "Let me", {"type": "thinking", "thinking": "Let me", "signature": "s1", "extra": {"a": 1}}
    )


def test_text_keeps_its_citations_and_plain_text_keeps_nothing_else() -> None:
    cited = {"type": "citations_delta", "citation": {"cited_text": "x"}}
    start: JsonObject = {"type": "text", "text": "", "citations": None}
    one, two = read(
        events((start, [{"text": "A"}, cast("JsonObject", cited)]), (start, [{"text": "B"}]))
    ).blocks
    assert one == Text("A", {"type": "text", "text": "A", "citations": [{"cited_text": "x"}]})
    assert two == Text("B")


def test_a_call_has_its_tools_own_name_and_keeps_what_it_does_not_understand() -> None:
    start: JsonObject = {
        "type": "tool_use",
        "id": "a",
        "name": "look_up",
        "input": {},
        "caller": {"t": 1},
    }
    (block,) = read(events((start, [{"partial_json": '{"q":'}, {"partial_json": "1}"}]))).blocks
    assert block == ToolCall("a", "look.up", {"q": 1}, raw={**start, "input": {"q": 1}})


def test_a_call_without_arguments_has_none() -> None:
    start: JsonObject = {"type": "tool_use", "id": "a", "name": "ping", "input": {}}
    assert read(events((start, []), stop="tool_use")).blocks == (ToolCall("a", "ping", {}),)


def test_unknown_blocks_deltas_and_events_are_kept_or_passed_over() -> None:
    start: JsonObject = {"type": "hologram", "shape": "cube"}
    lines = events((start, [{"type": "odd", "glow": "b"}, {"type": "odd", "glow": "c", "size": 3}]))
    lines.insert(1, json.dumps({"type": "weather", "index": 77}))
    (block,) = read(lines).blocks
    assert block == Opaque({"type": "hologram", "shape": "cube", "glow": "bc", "size": 3})


def test_a_server_tool_call_has_its_arguments() -> None:
    start: JsonObject = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    (block,) = read(events((start, [{"partial_json": '{"query":"x"}'}]))).blocks
    assert block == Opaque({**start, "input": {"query": "x"}})


def test_a_character_cut_in_two_arrives_whole() -> None:
    """JSON may spell one character as two escapes, and a delta may end between them."""
    accumulator = fresh()
    lines = events(({"type": "text", "text": ""}, [{"text": "a\ud83d"}, {"text": "\ude42b\ud83d"}]))
    shown = [d for line in lines for d in accumulator.feed("", line)]
    assert shown == [TextDelta("a", 0, 0), TextDelta("🙂b", 0, 1), TextDelta("�", 0, 3)]
    assert accumulator.message().blocks == (Text("a🙂b�"),)


def test_how_far_a_call_is_written_is_told_at_most_twice_a_second() -> None:
    times = iter([10.0, 10.2, 10.4, 10.6, 10.8, 11.2])
    accumulator = fresh(times)
    start: JsonObject = {"type": "tool_use", "id": "a", "name": "look_up", "input": {}}
    deltas: list[JsonObject] = [
        {"partial_json": piece} for piece in ('{"q', '":', '"12', "34", '"}')
    ]
    shown = [d for line in events((start, deltas)) for d in accumulator.feed("", line)]
    assert shown == [
        ToolInputDelta("a", "look.up", 0),
        ToolInputDelta("a", "look.up", 8),
        ToolInputDelta("a", "look.up", 12),
    ]


def test_a_models_name_can_be_kept() -> None:
    start = '{"type":"message_start","message":{"model":"a\\ud800"}}'
    assert read([start, '{"type":"message_stop"}']).model == "a\ufffd"


def test_usage_is_cumulative_and_a_missing_number_keeps_the_earlier_one() -> None:
    lines = events()
    lines[0] = json.dumps(
        {
            "type": "message_start",
            "message": {
                "model": "m",
                "usage": {"input_tokens": 10, "output_tokens": 1, "speed": "fast"},
            },
        }
    )
    lines[-2] = json.dumps(
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 7, "input_tokens": None},
        }
    )
    assert read(lines).usage == {"input_tokens": 10, "output_tokens": 7, "speed": "fast"}


# -- what breaks a stream --------------------------------------------------------------------------
START = json.dumps({"type": "message_start", "message": {}})
DEEP = "[" * 500 + "1" + "]" * 500
OPEN = json.dumps({"type": "content_block_start", "index": 0, "content_block": {"type": "text"}})


@pytest.mark.parametrize(
    "lines",
    [
        ["not json"],
        ["[" * 100_000],
        ["[]", OPEN],
        [OPEN],
        [START, START],
        [START, json.dumps({"type": "content_block_start", "index": 1, "content_block": {}})],
        [START, OPEN, OPEN],
        [START, json.dumps({"type": "content_block_delta", "index": 0, "delta": {}})],
        [START, OPEN, json.dumps({"type": "content_block_delta", "index": 1, "delta": {}})],
        [START, json.dumps({"type": "content_block_stop", "index": 0})],
        [START, OPEN, json.dumps({"type": "message_stop"})],
        [START, '{"type":"message_delta","usage":{"output_tokens":1e999}}'],
        [START, '{"type":"message_delta","usage":{"output_tokens":NaN}}'],
        [START, f'{{"type":"message_delta","usage":{{"output_tokens":{"9" * 2000}}}}}'],
        [START, OPEN, f'{{"type":"content_block_delta","index":0,"delta":{{"x":{DEEP}}}}}'],
    ],
)
def test_events_that_do_not_add_up_break_the_stream(lines: list[str]) -> None:
    *before, last = lines
    accumulator = fresh()
    for line in before:
        accumulator.feed("", line)
    with pytest.raises(StreamBroken):
        accumulator.feed("content_block_start", last)


def test_a_reply_that_never_ends_breaks_at_its_bound() -> None:
    accumulator = fresh(limit=1000)
    delta = json.dumps({"type": "content_block_delta", "index": 0, "delta": {"text": "x" * 50}})
    with pytest.raises(StreamBroken, match="1000"):
        read([START, OPEN, *[delta] * 100], accumulator)


def test_only_what_a_delta_adds_counts_towards_the_bound() -> None:
    """A long reply in deltas of a word each is twenty times its own size on the wire."""
    deltas: list[JsonObject] = [{"type": "text_delta", "text": "word "}] * 150
    message = read(events(({"type": "text", "text": ""}, deltas)), fresh(limit=1200))
    assert message.blocks == (Text("word " * 150),)


def test_an_error_event_carries_its_type_and_code() -> None:
    body: Json = {
        "type": "rate_limit_error",
        "message": "Slow",
        "details": {"error_code": "x_limit"},
    }
    with pytest.raises(StreamError, match="Slow") as raised:
        fresh().feed("error", json.dumps({"type": "error", "error": body}))
    assert (raised.value.type, raised.value.code) == ("rate_limit_error", "x_limit")


def test_what_comes_after_the_end_changes_nothing() -> None:
    accumulator = fresh()
    message = read(events(({"type": "text", "text": ""}, [{"text": "A"}])), accumulator)
    assert accumulator.feed("", START) == []
    assert accumulator.message() == message


def test_long_arguments_in_small_deltas_cost_no_more_than_their_length() -> None:
    """300 kB in 16-byte deltas cost the SDK's own accumulation 1.1 s of CPU; linear is far below.
    The bound is loose for a busy machine."""
    call = Call("look_up", {"text": "x" * 300_000})
    raw = stream(Reply(content=[call]), REQUEST, 1)
    begin = time.process_time()
    accumulator = fresh()
    run([raw[n : n + 4096] for n in range(0, len(raw), 4096)], accumulator)
    assert time.process_time() - begin < 2.0
    assert accumulator.message().blocks[0] == ToolCall("toolu_fake_1_0", "look.up", call.input)
