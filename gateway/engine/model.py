"""What goes to a model and what comes back: the vocabulary of the ``Model`` seam."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from decimal import Decimal

from gateway.engine.kinds import Json, JsonObject
from gateway.engine.messages import Block, Message, Text, ToolCall
from gateway.engine.struct import struct


@struct(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it."""

    name: str
    description: str
    input_schema: JsonObject


@struct(frozen=True, slots=True)
class Edition:
    """System prompt and tools as sent, serialised once.

    ``hash`` is the start (32 hex digits) of the SHA-256 of ``body``, the canonical JSON of the
    other fields. Thinking
    blocks are bound to an edition: messages of earlier editions are sent without theirs.
    """

    hash: str
    body: str
    model: str
    system: str
    tools: tuple[ToolSpec, ...]
    settings: JsonObject = field(default_factory=dict[str, Json])
    """What else the adapter fixes for the edition's life (thinking, effort, max_tokens)."""


@struct(frozen=True, slots=True)
class ModelRequest:
    """One model call. ``messages[:history]`` belong to earlier editions: no thinking is sent for
    them, always the same way."""

    edition: Edition
    messages: Sequence[Message]
    history: int
    turn_id: str
    session: str

    @property
    def system(self) -> str:
        return self.edition.system

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        return self.edition.tools

    @property
    def turn(self) -> Sequence[Message]:
        """This turn's messages, opening first."""
        messages = self.messages
        start = len(messages)
        while start and messages[start - 1].turn_id == self.turn_id:
            start -= 1
        return messages[start:]

    @property
    def text(self) -> str:
        """The text that opened this turn."""
        turn = self.turn
        return turn[0].text if turn else ""


@struct(frozen=True, slots=True)
class Usage:
    """Tokens of one model call. ``input`` excludes cache; cost in US dollars, ``None`` when no
    price is known; ``raw`` is the provider's own record; ``estimated`` marks a cut stream."""

    model: str = ""
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: Decimal | None = None
    prices: str = ""
    raw: JsonObject | None = None
    estimated: bool = False

    @property
    def context(self) -> int:
        """Size of the context after the call: all that went in and what came out."""
        return self.input + self.cache_read + self.cache_write + self.output


@struct(frozen=True, slots=True)
class ModelReply:
    """A complete reply: blocks in order, why the model stopped, what it cost."""

    blocks: tuple[Block, ...]
    stop: str = "end_turn"
    usage: Usage = field(default_factory=Usage)

    @classmethod
    def say(cls, text: str) -> ModelReply:
        """A reply of plain text."""
        return cls(blocks=(Text(text),))

    @classmethod
    def call(cls, name: str, /, *, id: str = "", text: str = "", **arguments: Json) -> ModelReply:  # noqa: A002
        """A reply that calls one tool; ``id`` defaults to one made by the scripted model."""
        call = ToolCall(id=id, name=name, input=dict(arguments))
        blocks: tuple[Block, ...] = (Text(text), call) if text else (call,)
        return cls(blocks=blocks, stop="tool_use")

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(block for block in self.blocks if isinstance(block, ToolCall))

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.blocks if isinstance(block, Text))


@struct(frozen=True, slots=True)
class TextDelta:
    """Live text: ``block`` counts content blocks of the reply, ``offset`` characters in it."""

    text: str
    block: int = 0
    offset: int = 0


@struct(frozen=True, slots=True)
class ReasoningDelta:
    text: str
    block: int = 0
    offset: int = 0


@struct(frozen=True, slots=True)
class ToolInputDelta:
    """``characters`` of the call's arguments written so far."""

    call_id: str
    name: str
    characters: int


@struct(frozen=True, slots=True)
class Alive:
    """Bytes arrived that carry nothing to show; it restarts the idle window."""


@struct(frozen=True, slots=True)
class Meter:
    """``read`` tells at any moment what the provider charges should the call end there, ``None``
    while that is nothing. Of a call that is stopped half-way nobody else knows."""

    read: Callable[[], Usage | None]


ModelDelta = TextDelta | ReasoningDelta | ToolInputDelta | Alive | Meter

NORMAL_STOPS = frozenset({"end_turn", "tool_use", "stop_sequence", "pause_turn"})
"""Stop reasons after which a reply is whole. Every other one is abnormal."""
ABNORMAL_STOPS = frozenset(
    {"max_tokens", "refusal", "model_context_window_exceeded", "content_filter"}
)
"""Those that are known. Providers make new ones, so an unknown one is abnormal too."""
