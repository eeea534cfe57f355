"""Transcript → request body of ``POST /v1/messages``: pure, and append-only byte for byte.

The shape (platform.claude.com, "Messages API"): ``model``, ``max_tokens``, ``stream``, ``thinking``,
``output_config``, ``cache_control``, ``system``, ``tools``, and last ``messages``, so that the whole
body of one call, up to its closing brackets, is how the body of the next call begins.

Newer models bind each thinking block to the exact system prompt, tools and messages before it
("Preserved thinking"); one changed byte costs a 400 or the thinking. So:

- system, tools and settings come from the edition alone, never from today's code or the clock;
- a message's bytes depend on itself, its edition and the messages before it, never on later ones;
- how this file renders is itself pinned: ``settings["wire"]``. A change here that alters bytes is
  a new ``WIRE``, and editions made under an older one keep being rendered the old way.

Two cache breakpoints at most (four are allowed, T26): the end of system and tools, which all
sessions of an agent share, and the API's automatic one at the end of the conversation. Neither
ever sits on an empty block, and neither is part of what thinking is bound to.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, assert_never

from gateway.engine.errors import ModelError
from gateway.engine.kinds import Json, JsonObject
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
from gateway.engine.model import Edition, ModelRequest, ToolSpec
from gateway.models._names import reduced, wire_names
from gateway.models._text import decision_text, json_text, safe, safe_json, user_texts

WIRE = 1

_log = logging.getLogger("gateway.models")
_encoder = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)
_EPHEMERAL: JsonObject = {"type": "ephemeral"}
_BAD_ID = re.compile(r"[^a-zA-Z0-9_-]")
_NO_RESULT = '{"error":"no result of this call was recorded"}'
_BEFORE = "[The conversation before this point is not shown.]"
_THINKING = {"thinking": "signature", "redacted_thinking": "data"}
"""Kinds of thinking blocks, and where each keeps what proves that the provider made it."""
_USER_ONLY = frozenset({"document", "image", "search_result"})
"""Blocks the API takes from a user and refuses in an assistant message (T15)."""


def build(request: ModelRequest, settings: JsonObject, model: str) -> JsonObject:
    """The request body. ``settings`` and ``model`` are the edition's (see ``pinned``)."""
    edition = request.edition
    body: JsonObject = {"model": model, "max_tokens": settings["max_tokens"], "stream": True}
    if thinking := settings.get("thinking"):
        body["thinking"] = _in_order(thinking)
    if effort := settings.get("effort"):
        body["output_config"] = {"effort": effort}
    body["cache_control"] = _EPHEMERAL
    system = safe(edition.system)
    if system.strip():
        body["system"] = [{"type": "text", "text": system, "cache_control": _EPHEMERAL}]
    names = wire_names(tool.name for tool in edition.tools)
    if edition.tools:
        eager = settings.get("eager_input_streaming") is True
        tools: list[Json] = [_tool(tool, names[tool.name], eager) for tool in edition.tools]
        if "system" not in body and isinstance(last := tools[-1], dict):
            last["cache_control"] = _EPHEMERAL
        body["tools"] = tools
    body["messages"] = _Conversation(names).render(request.messages, request.history)
    return body


def encode(body: JsonObject) -> bytes:
    """The body as the SDK puts it on the wire: the bytes that append-only is about."""
    return _encoder.encode(body).encode()


def own_names(edition: Edition) -> dict[str, str]:
    """Names on the wire → the tools' own."""
    names = wire_names(tool.name for tool in edition.tools)
    return {wire: own for own, wire in names.items()}


def _tool(tool: ToolSpec, name: str, eager: bool) -> Json:
    out: JsonObject = {"name": name}
    if tool.description.strip():
        out["description"] = safe(tool.description)
    out["input_schema"] = _in_order({**tool.input_schema, "type": "object"})
    if eager:
        # Arguments come as they are written: what tells a person that a long call is under way.
        out["eager_input_streaming"] = True
    return out


def _in_order(value: Json) -> Json:
    """Keys sorted: an edition read back from the store has them so, and one that was just made may
    not, yet both must come to the same bytes."""
    match value:
        case dict():
            return {safe(key): _in_order(value[key]) for key in sorted(value)}
        case list():
            return [_in_order(item) for item in value]
        case _:
            return safe_json(value)


@dataclass(slots=True)
class _Conversation:
    """Messages in, wire messages out; what it knows at each point comes from before that point."""

    names: dict[str, str]
    out: list[Json] = field(default_factory=list[Json])
    ids: set[str] = field(default_factory=set[str])
    speaker: Literal["user", "assistant", "results"] | None = None
    """Who spoke last on the wire."""
    said: list[Json] = field(default_factory=list[Json])
    """The content of the last user message, open for more while the user is the last speaker."""

    def render(self, messages: Sequence[Message], history: int) -> list[Json]:
        results: dict[str, list[ToolResult]] = {}
        for position, message in enumerate(messages):
            if message.role == "assistant":
                results = _results_of(messages, position)
                self._assistant(message, results, thinking=position >= history)
            elif message.role == "tool":
                _warn_of_strays(message, results)
            else:
                self._user(message)
        if not self.out:
            raise ModelError("there is nothing to send: the transcript is empty")
        if self.speaker == "assistant" and messages[-1].stop != "pause_turn":
            # It would be a prefill, which newer models refuse (T08). Only a message in which the
            # provider paused its own tools goes back as the last one (T22).
            raise ModelError(
                "the transcript ends with the model's own message, so there is nothing to answer",
                fix="report it: a model call needs a user message or tool results at the end",
            )
        return self.out

    # -- user --------------------------------------------------------------------------------------
    def _user(self, message: Message) -> None:
        """Turns in a row are one message (T07). After tool results a new one begins: text next to
        results teaches the model to end its turn without a word (T09)."""
        if self.speaker != "user":
            self.said = []
            self.out.append({"role": "user", "content": self.said})
            self.speaker = "user"
        self.said += [_text(text) for text in user_texts(message)]

    # -- assistant ---------------------------------------------------------------------------------
    def _assistant(
        self, message: Message, results: dict[str, list[ToolResult]], *, thinking: bool
    ) -> None:
        content: list[Json] = []
        answers: list[Json] = []
        for position, block in enumerate(message.blocks):
            if isinstance(block, ToolCall):
                wire_id = self._id(block, message.index, position)
                content.append(self._call(block, wire_id))
                found = results.get(block.id)
                answers.append(_result(wire_id, found.pop(0) if found else None))
            elif (raw := _echo(block, thinking=thinking)) is not None:
                content.append(raw)
        if all(isinstance(block, dict) and block["type"] in _THINKING for block in content):
            return  # nothing is left of it but thoughts, and an empty message is refused (T06)
        if not self.out:
            self.out.append({"role": "user", "content": [_text(_BEFORE)]})
        self.out.append({"role": "assistant", "content": content})
        self.speaker = "assistant"
        if answers:
            # All results of a batch in one message, in call order (T10).
            self.out.append({"role": "user", "content": answers})
            self.speaker = "results"

    def _id(self, call: ToolCall, index: int, position: int) -> str:
        """The call's id, spelled so that the API takes it and unique in the conversation (T04)."""
        wanted = _BAD_ID.sub("_", call.id) or f"call_{index}_{position}"
        if wanted in self.ids:
            wanted = f"{wanted}_{index}_{position}"
        self.ids.add(wanted)
        return wanted

    def _call(self, call: ToolCall, wire_id: str) -> Json:
        """The call as the model wrote it; what a person changed is told in the result (T24)."""
        extra = safe_json(call.raw) if call.raw else {}
        return {
            **(extra if isinstance(extra, dict) else {}),
            "type": "tool_use",
            "id": wire_id,
            "name": self.names.get(call.name) or reduced(call.name),
            "input": safe_json(call.input),
        }


def _echo(block: Block, *, thinking: bool) -> Json | None:
    """A block of the model's own, sent back; ``None`` for what must not go back."""
    match block:
        case Text(text=text, raw=raw):
            if not text.strip():
                return None  # the API itself may return such a block, and refuses it (T05)
            return safe_json(raw) if raw is not None else _text(safe(text))
        case Reasoning(raw=raw):
            return safe_json(raw) if thinking and _signed(raw) else None
        case Opaque(raw=raw):
            kind = raw.get("type")
            return safe_json(raw) if isinstance(kind, str) and kind not in _USER_ONLY else None
        case Attachment() | ToolCall() | ToolResult():
            return None
        case _:
            assert_never(block)


def _signed(raw: JsonObject) -> bool:
    """Thinking of a cut stream has no signature yet, and is refused without one (T12)."""
    seal = _THINKING.get(str(raw.get("type")))
    return seal is not None and bool(raw.get(seal))


def _result(wire_id: str, result: ToolResult | None) -> Json:
    """One result per call (T03). A call without one would be refused on every later call, so it
    gets an error here; the engine owes each call a result, so this is the last line only (T01)."""
    if result is None:
        _log.warning("tool call %s has no recorded result; an error is sent in its place", wire_id)
        content: list[Json] = [_text(_NO_RESULT)]
    else:
        content = [_text(json_text(result.output))]
        if result.decision is not None:
            content.append(_text(decision_text(result.decision)))
    out: JsonObject = {"type": "tool_result", "tool_use_id": wire_id, "content": content}
    if result is None or result.is_error:
        out["is_error"] = True
    return out


def _results_of(messages: Sequence[Message], position: int) -> dict[str, list[ToolResult]]:
    """Results between this assistant message and the next, by call id, in the order committed."""
    found: dict[str, list[ToolResult]] = {}
    for message in _until_next_assistant(messages, position):
        for result in message.results:
            found.setdefault(result.call_id, []).append(result)
    return found


def _until_next_assistant(messages: Sequence[Message], position: int) -> Iterator[Message]:
    for index in range(position + 1, len(messages)):
        if messages[index].role == "assistant":
            return
        yield messages[index]


def _warn_of_strays(message: Message, left: dict[str, list[ToolResult]]) -> None:
    """A result that no call took is left out: the API refuses it (T02), a second one too (T03)."""
    for result in message.results:
        if result in left.get(result.call_id, ()) or result.call_id not in left:
            _log.warning("a result for call %s answers no call and is not sent", result.call_id)


def _text(text: str) -> Json:
    return {"type": "text", "text": text}
