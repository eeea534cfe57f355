"""Transcripts in a line or two, for tests of what goes to a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

from gateway.engine.kinds import Json, JsonObject, Trust
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
from gateway.models._wire import build
from gateway.models.capabilities import settings_for

MODEL = "claude-opus-5-5"
LOOKUP = ToolSpec(
    "lookup_order",
    "Find an order.",
    {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]},
)
REFUND = ToolSpec("issue_refund", "Pay back.", {"type": "object", "properties": {}})

Parts = Sequence[Block] | str


def edition(
    *,
    system: str = "You help.",
    tools: Sequence[ToolSpec] = (LOOKUP, REFUND),
    model: str = MODEL,
    settings: JsonObject | None = None,
) -> Edition:
    chosen = settings_for(model, thinking=True, max_tokens=None, effort=None)
    return Edition(
        hash="e" * 64,
        body="{}",
        model=model,
        system=system,
        tools=tuple(tools),
        settings={"provider": "anthropic", "wire": 1, **(chosen if settings is None else settings)},
    )


class Talk:
    """A conversation that grows: each call appends one message."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.turn = 0

    def user(self, said: Parts = "Hello", *, trust: Trust = "attested", new: bool = True) -> Talk:
        self.turn += new
        return self._add("user", said, trust=trust)

    def trigger(self, said: Parts, by: str = "cron:daily", trust: Trust = "operator") -> Talk:
        self.turn += 1
        return self._add("trigger", said, trust=trust, by=by)

    def model(self, said: Parts, stop: str = "end_turn") -> Talk:
        return self._add("assistant", said, trust="agent", stop=stop)

    def tool(self, *results: ToolResult) -> Talk:
        for result in results:
            self._add("tool", (result,), trust="tool")
        return self

    def _add(self, role: str, said: Parts, *, trust: Trust, **more: str) -> Talk:
        blocks = (Text(said),) if isinstance(said, str) else tuple(said)
        self.messages.append(
            Message(
                index=len(self.messages),
                role=cast("Literal['user', 'trigger', 'assistant', 'tool']", role),
                blocks=blocks,
                turn_id=f"t{self.turn}",
                source="web",
                trust=trust,
                by=more.get("by"),
                stop=more.get("stop"),
            )
        )
        return self

    def request(self, edition_: Edition | None = None, *, history: int = 0) -> ModelRequest:
        return ModelRequest(
            edition=edition_ or edition(),
            messages=list(self.messages),
            history=history,
            turn_id=f"t{self.turn}",
            session="web:1",
        )

    def body(self, edition_: Edition | None = None, *, history: int = 0) -> JsonObject:
        request = self.request(edition_, history=history)
        return build(request, request.edition.settings, request.edition.model)

    def wire(self, edition_: Edition | None = None, *, history: int = 0) -> list[JsonObject]:
        messages = self.body(edition_, history=history)["messages"]
        return cast("list[JsonObject]", messages)


def call(id: str, name: str = "lookup_order", **arguments: Json) -> ToolCall:  # noqa: A002
    return ToolCall(id=id, name=name, input=dict(arguments))


def result(id: str, output: Json = "ok", name: str = "lookup_order") -> ToolResult:  # noqa: A002
    return ToolResult(call_id=id, name=name, output=output)


def thought(text: str = "Hm.", signature: str = "c2ln") -> Reasoning:
    raw: JsonObject = {"type": "thinking", "thinking": text, "signature": signature}
    return Reasoning(text, raw)


def texts(message: JsonObject) -> list[str]:
    """The text blocks of a wire message."""
    return [str(block["text"]) for block in content(message) if block["type"] == "text"]


def content(message: JsonObject) -> list[JsonObject]:
    return cast("list[JsonObject]", message["content"])


__all__ = ["Attachment", "Opaque", "Talk", "call", "content", "edition", "result", "thought"]
