"""Records and their JSON: what was written is read back, and an unknown form is refused."""

from __future__ import annotations

import json
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.engine.decisions.opening import open_with
from gateway.engine.decisions.park import RequestBody, request_body
from gateway.engine.kinds import Json, JsonObject, Role, SessionRef, Speaker, Trust, TurnRow
from gateway.engine.messages import (
    Attachment,
    Block,
    Message,
    Opaque,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from gateway.engine.model import ToolSpec
from gateway.engine.outcomes import TurnInput
from gateway.engine.records import EventRow, LoggedEvent, MessageRow
from gateway.engine.wire import (
    UnknownWireVersion,
    block_from,
    canonical,
    clean,
    dumps,
    edition_from,
    make_edition,
    message_body,
    message_from,
    message_json,
    speaker_from,
    speaker_json,
    versioned,
)
from gateway.engine.wire.events import event_from, event_json, event_row

text = st.text(max_size=30)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(text, json_values, max_size=3)
blocks: st.SearchStrategy[Block] = st.one_of(
    st.builds(Text, text, st.none() | objects),
    st.builds(Reasoning, text, objects),
    st.builds(ToolCall, text, text, objects, st.none() | text, st.none() | objects),
    st.builds(ToolResult, text, text, json_values, st.booleans(), st.none() | objects),
    st.builds(Attachment, text, text, text, st.integers(0)),
    st.builds(Opaque, objects),
)
messages = st.builds(
    Message,
    index=st.integers(0, 10**6),
    role=st.sampled_from(cast("list[Role]", ["user", "trigger", "assistant", "tool"])),
    blocks=st.lists(blocks, max_size=4).map(tuple),
    turn_id=text,
    source=text,
    trust=st.sampled_from(
        cast("list[Trust]", ["operator", "attested", "unattested", "tool", "agent"])
    ),
    by=st.none() | text,
    stop=st.none() | text,
    edition=st.none() | text,
)


def row(message: Message) -> MessageRow:
    return MessageRow(
        generation=0,
        index=message.index,
        turn=TurnRow(1),
        turn_id=message.turn_id,
        role=message.role,
        body=message_body(message),
    )


@given(messages)
def test_a_message_is_read_back_as_it_was_written(message: Message) -> None:
    again = message_from(row(message))
    assert again == message
    assert message_body(again) == message_body(message)


@given(messages)
def test_what_the_api_shows_is_json_without_the_providers_own_blocks(message: Message) -> None:
    shown = json.dumps(message_json(message))
    assert '"raw"' not in shown or any('"raw"' in dumps(_plain(b)) for b in message.blocks)
    assert len(json.loads(shown)["content"]) == len(message.blocks)


def _plain(block: Block) -> Json:
    """The parts of a block that people may see."""
    match block:
        case ToolCall():
            return [block.input, block.name, block.id, block.problem]
        case ToolResult():
            return [block.output, block.decision, block.name, block.call_id]
        case Text() | Reasoning():
            return block.text
        case Attachment():
            return [block.id, block.name, block.media_type]
        case Opaque():
            return None


@given(objects, st.randoms(use_true_random=False))
def test_a_value_has_one_canonical_spelling(value: JsonObject, draw: object) -> None:
    keys = list(value)
    getattr(draw, "shuffle")(keys)  # noqa: B009 - hypothesis' own Random
    assert canonical({key: value[key] for key in keys}) == canonical(value)
    assert json.loads(canonical(value)) == value


@given(st.text(alphabet=st.characters(), max_size=20) | st.just("a\ud800b"))
def test_clean_text_can_always_be_encoded(value: str) -> None:
    assert clean(clean(value)) == clean(value)
    clean(value).encode()


@given(
    st.none()
    | st.builds(
        Speaker,
        id=text,
        name=text,
        tenant=text,
        level=st.sampled_from(["none", "domain", "sender", "provider", "linked"]),
        linked=st.lists(text, max_size=3).map(tuple),
    )
)
def test_a_speaker_is_read_back(speaker: Speaker | None) -> None:
    assert speaker_from(speaker_json(speaker)) == speaker


@given(text, text, st.lists(st.builds(ToolSpec, text, text, objects), max_size=3), objects)
def test_an_edition_is_read_back_and_named_by_its_content(
    model: str, system: str, tools: list[ToolSpec], options: JsonObject
) -> None:
    made = make_edition(model=model, system=system, tools=tuple(tools), settings=options)
    assert edition_from(made.hash, made.body) == made
    again = make_edition(model=model, system=system, tools=tuple(tools), settings=options)
    assert (again.hash, again.body) == (made.hash, made.body)
    other = make_edition(model=model, system=system + "x", tools=tuple(tools), settings=options)
    assert other.hash != made.hash


@given(text, objects, objects, objects, st.none() | st.tuples(json_values))
def test_a_request_is_read_back(
    prompt: str,
    schema: JsonObject,
    answerers: JsonObject,
    arguments: JsonObject,
    on_expiry: tuple[Json] | None,
) -> None:
    body = RequestBody(
        prompt=prompt,
        schema=schema,
        answerers=answerers,
        arguments=arguments,
        on_expiry=on_expiry,
    )
    assert request_body(body.body()) == body


@pytest.mark.parametrize("body", ['{"v":2,"b":[],"s":"x","t":"tool"}', '{"b":[]}', "[]", '"x"'])
def test_a_body_of_an_unknown_version_is_refused(body: str) -> None:
    with pytest.raises(UnknownWireVersion):
        message_from(MessageRow(generation=0, index=0, turn=TurnRow(1), role="user", body=body))


@pytest.mark.parametrize("block", [{"k": "video"}, {}, "x", None])
def test_an_unknown_block_is_refused(block: Json) -> None:
    with pytest.raises(UnknownWireVersion):
        block_from(block)


def test_the_refusal_names_both_versions() -> None:
    with pytest.raises(UnknownWireVersion, match="version 9, this release reads 1"):
        versioned('{"v":9}')


@settings(max_examples=25)
@given(messages)
def test_an_event_that_points_at_a_message_gets_its_text_back(message: Message) -> None:
    from gateway.engine.events import MessageCompleted
    from gateway.engine.kinds import Millis

    ref = SessionRef("june", "s")
    event = MessageCompleted(
        turn_id="t", session="s", at=Millis(5), seq=3, text=message.text, message=message.index
    )
    stored: EventRow = event_row(event, TurnRow(1))
    assert stored.body is None
    assert event_from(LoggedEvent(event=stored, message=row(message)), ref, "t") == event
    assert event_json(event)["text"] == message.text


def _hash(given: TurnInput) -> str:
    opening = open_with(given)
    return opening.content_hash(opening.content())


def test_a_turn_id_stands_for_blocks_trigger_source_and_speaker() -> None:
    base = TurnInput(message="hi", source="slack", speaker=Speaker(id="slack:T1:U1"))
    same = [
        base,
        TurnInput(message=[Text("hi")], source="slack", speaker=Speaker(id="slack:T1:U1")),
        TurnInput(
            message="hi",
            source="slack",
            speaker=Speaker(id="slack:T1:U1", name="Ada", level="provider"),
            event={"ts": "1"},
        ),
    ]
    other = [
        TurnInput(message="ho", source="slack", speaker=Speaker(id="slack:T1:U1")),
        TurnInput(message="hi", source="web", speaker=Speaker(id="slack:T1:U1")),
        TurnInput(message="hi", source="slack", speaker=Speaker(id="slack:T1:U2")),
        TurnInput(message="hi", source="slack"),
        TurnInput(message=[Text("h"), Text("i")], source="slack"),
    ]
    hashes = {_hash(one) for one in same}
    assert len(hashes) == 1
    assert not hashes & {_hash(one) for one in other}
