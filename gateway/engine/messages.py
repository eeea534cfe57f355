"""The transcript: messages made of typed blocks. The transcript *is* the conversation."""

from __future__ import annotations

from dataclasses import field

from gateway.engine.kinds import Json, JsonObject, Role, Trust
from gateway.engine.struct import struct


@struct(frozen=True, slots=True)
class Text:
    text: str
    raw: JsonObject | None = None
    """The provider's own block when it holds more than the text (citations)."""


@struct(frozen=True, slots=True)
class Reasoning:
    """Thinking. ``raw`` is the provider's block, signature included, sent back verbatim."""

    text: str
    raw: JsonObject


@struct(frozen=True, slots=True)
class ToolCall:
    """A call the model asked for. ``problem`` says why it must not run (cut off, not JSON)."""

    id: str
    name: str
    input: JsonObject
    problem: str | None = None
    raw: JsonObject | None = None


@struct(frozen=True, slots=True)
class ToolResult:
    call_id: str
    name: str
    output: Json
    is_error: bool = False
    decision: JsonObject | None = None
    """The person's decision the call ran under, for the model to read."""


@struct(frozen=True, slots=True)
class Attachment:
    """A reference; the bytes live elsewhere."""

    id: str
    name: str
    media_type: str
    size: int


@struct(frozen=True, slots=True)
class Opaque:
    """A provider block this release doesn't know: kept and echoed, never shown."""

    raw: JsonObject


Block = Text | Reasoning | ToolCall | ToolResult | Attachment | Opaque


@struct(frozen=True, slots=True)
class Message:
    """One entry of the transcript; ``index`` is unique within (agent, session, generation)."""

    index: int
    role: Role
    blocks: tuple[Block, ...]
    turn_id: str
    source: str
    trust: Trust
    by: str | None = None
    """Who caused a ``trigger`` message (``cron:daily``): no person sent it."""
    stop: str | None = None
    """Why the model stopped, on an ``assistant`` message."""
    edition: str | None = None
    """Hash of the edition its turn runs on, on the message that opens a turn."""
    _calls: tuple[ToolCall, ...] | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def text(self) -> str:
        return "".join([block.text for block in self.blocks if isinstance(block, Text)])

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        found = self._calls
        if found is None:  # every step reads the calls of the turn's replies
            found = tuple([block for block in self.blocks if isinstance(block, ToolCall)])
            object.__setattr__(self, "_calls", found)
        return found

    @property
    def results(self) -> tuple[ToolResult, ...]:
        return tuple(block for block in self.blocks if isinstance(block, ToolResult))
