"""A scripted reply → the events of its stream, or its JSON when no stream was asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from gateway.engine.kinds import Json, JsonObject
from gateway.testing.fake_anthropic.binding import id_of, prefix_hash, sign, thinking_of
from gateway.testing.fake_anthropic.spec import Block, Call, Part, Reply, Say, Think, dumps, event

_CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Delta:
    """One block as it travels: its start, then its deltas."""

    start: JsonObject
    deltas: tuple[JsonObject, ...]


def stream(reply: Reply, body: JsonObject, number: int) -> bytes:
    """The whole event stream for this reply to this request."""
    events = list(_events(reply, body, number))
    inserted = sorted(((at % (len(events) + 1), raw) for at, raw in reply.insert), reverse=True)
    for at, raw in inserted:
        events.insert(at, raw)
    return b"".join(events)


def whole(reply: Reply, body: JsonObject, number: int) -> JsonObject:
    """The reply as one JSON message."""
    content: list[Json] = [_assembled(block) for block in _blocks(reply, body, number)]
    return {
        **_head(reply, body, number),
        "content": content,
        "stop_reason": reply.stop_reason,
        "usage": usage_of(reply, body),
    }


def usage_of(reply: Reply, body: JsonObject) -> JsonObject:
    """The scripted bill, or one by the rule of thumb of four characters a token."""
    if reply.usage is not None:
        return reply.usage
    written = sum(len(_written(part)) for part in reply.content)
    return {
        "input_tokens": count_tokens(body),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 1 + written // _CHARACTERS_PER_TOKEN,
    }


def count_tokens(body: JsonObject) -> int:
    said: list[Json] = [body.get("system"), body.get("tools"), body.get("messages")]
    return 1 + sum(len(dumps({"": part})) for part in said if part) // _CHARACTERS_PER_TOKEN


def _events(reply: Reply, body: JsonObject, number: int) -> Iterator[bytes]:
    usage = usage_of(reply, body)
    first: JsonObject = {**usage, "output_tokens": 1}
    first.pop("iterations", None)
    head: JsonObject = {
        **_head(reply, body, number), "content": [], "stop_reason": None, "usage": first
    }  # fmt: skip
    yield event("message_start", {"type": "message_start", "message": head})
    for index, block in enumerate(_blocks(reply, body, number)):
        yield _event("content_block_start", index, "content_block", block.start)
        for delta in block.deltas:
            yield _event("content_block_delta", index, "delta", delta)
        yield event("content_block_stop", {"type": "content_block_stop", "index": index})
    stop: JsonObject = {"stop_reason": reply.stop_reason, "stop_sequence": None}
    if reply.stop_details is not None:
        stop["stop_details"] = reply.stop_details
    yield event("message_delta", {"type": "message_delta", "delta": stop, "usage": usage})
    yield event("message_stop", {"type": "message_stop"})


def _event(name: str, index: int, key: str, value: JsonObject) -> bytes:
    return event(name, {"type": name, "index": index, key: value})


def _head(reply: Reply, body: JsonObject, number: int) -> JsonObject:
    return {
        "id": f"msg_fake_{number}",
        "type": "message",
        "role": "assistant",
        "model": reply.model or body.get("model"),
        "stop_sequence": None,
    }


def _blocks(reply: Reply, body: JsonObject, number: int) -> Iterator[Delta]:
    messages = body.get("messages")
    sent = messages if isinstance(messages, list) else []
    prefix = prefix_hash(body, sent)
    before = [
        id_of(str(block.get("signature") or block.get("data")))
        for message in sent
        for block in thinking_of(message)
    ]
    for position, part in enumerate(reply.content):
        if isinstance(part, Think):
            signature = sign(prefix, before, part.text)
            before.append(id_of(signature))
            yield _thinking(part, signature, reply.delta)
        else:
            yield _block(part, f"toolu_fake_{number}_{position}", reply.delta)


def _thinking(part: Think, signature: str, size: int) -> Delta:
    if part.redacted:
        return Delta({"type": "redacted_thinking", "data": signature}, ())
    deltas: list[JsonObject] = [
        {"type": "thinking_delta", "thinking": piece} for piece in _pieces(part.text, size)
    ]
    if part.signed:
        deltas.append({"type": "signature_delta", "signature": signature})
    return Delta({"type": "thinking", "thinking": "", "signature": ""}, tuple(deltas))


def _block(part: Say | Call | Block, call_id: str, size: int) -> Delta:
    match part:
        case Say(text):
            return Delta(
                {"type": "text", "text": ""},
                tuple({"type": "text_delta", "text": piece} for piece in _pieces(text, size)),
            )
        case Call():
            start: JsonObject = {
                "type": "tool_use", "id": part.id or call_id, "name": part.name, "input": {}
            }  # fmt: skip
            return Delta(
                start,
                tuple(
                    {"type": "input_json_delta", "partial_json": piece}
                    for piece in _pieces(_written(part), size)
                ),
            )
        case Block(raw, deltas):
            return Delta(raw, deltas)


def _assembled(block: Delta) -> JsonObject:
    out = dict(block.start)
    if out.get("type") == "tool_use":
        written = "".join(str(delta["partial_json"]) for delta in block.deltas)
        out["input"] = _read(written)
        return out
    for delta in block.deltas:
        for key, piece in delta.items():
            if key != "type":
                out[key] = str(out.get(key) or "") + str(piece)
    return out


def _read(written: str) -> Json:
    try:
        value: Json = json.loads(written or "{}")
    except ValueError:
        return {}
    return value


def _written(part: Part) -> str:
    match part:
        case Say(text) | Think(text):
            return text
        case Call():
            return dumps(part.input) if part.written is None else part.written
        case Block():
            return ""


def _pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
