"""What a turn tells while it runs. Durable events carry ``seq``; the others are live only.

One class per row of the event table in the reference; ``type`` is the name on the wire.
"""

from __future__ import annotations

from typing import ClassVar

from gateway.engine.kinds import CancelReason, Json, JsonObject, Millis, Outcome, Trigger
from gateway.engine.messages import ToolCall
from gateway.engine.model import Usage
from gateway.engine.struct import struct


@struct(frozen=True, slots=True, kw_only=True)
class Event:
    """What every event carries. ``seq`` counts a turn's durable events from 1 without gaps."""

    type: ClassVar[str] = ""
    durable: ClassVar[bool] = True
    terminal: ClassVar[bool] = False

    turn_id: str
    session: str
    at: Millis
    seq: int | None = None


@struct(frozen=True, slots=True, kw_only=True)
class TurnQueued(Event):
    type: ClassVar[str] = "turn.queued"
    durable: ClassVar[bool] = False
    position: int


@struct(frozen=True, slots=True, kw_only=True)
class TurnStarted(Event):
    type: ClassVar[str] = "turn.started"
    trigger: Trigger
    by: str | None = None


@struct(frozen=True, slots=True, kw_only=True)
class ReasoningDeltaEvent(Event):
    type: ClassVar[str] = "reasoning.delta"
    durable: ClassVar[bool] = False
    text: str
    block: int
    offset: int


@struct(frozen=True, slots=True, kw_only=True)
class MessageDeltaEvent(Event):
    type: ClassVar[str] = "message.delta"
    durable: ClassVar[bool] = False
    text: str
    block: int
    offset: int


@struct(frozen=True, slots=True, kw_only=True)
class ToolInputDeltaEvent(Event):
    type: ClassVar[str] = "tool_input.delta"
    durable: ClassVar[bool] = False
    call_id: str
    name: str
    characters: int


@struct(frozen=True, slots=True, kw_only=True)
class ModelRetrying(Event):
    """Uncommitted text shown so far is void. ``delay`` in seconds."""

    type: ClassVar[str] = "model.retrying"
    durable: ClassVar[bool] = False
    attempt: int
    delay: float
    error: str


@struct(frozen=True, slots=True, kw_only=True)
class ReasoningCompleted(Event):
    type: ClassVar[str] = "reasoning.completed"
    text: str
    message: int


@struct(frozen=True, slots=True, kw_only=True)
class MessageCompleted(Event):
    type: ClassVar[str] = "message.completed"
    text: str
    message: int


@struct(frozen=True, slots=True, kw_only=True)
class ActionRequested(Event):
    type: ClassVar[str] = "action.requested"
    call: ToolCall
    message: int


@struct(frozen=True, slots=True, kw_only=True)
class ActionProgress(Event):
    type: ClassVar[str] = "action.progress"
    durable: ClassVar[bool] = False
    call_id: str
    text: str


@struct(frozen=True, slots=True, kw_only=True)
class ActionCompleted(Event):
    """``result`` is the summary (at most 2,000 characters); ``duration`` in milliseconds."""

    type: ClassVar[str] = "action.completed"
    call_id: str
    name: str
    result: str
    error: str | None = None
    duration: Millis = Millis(0)
    message: int


@struct(frozen=True, slots=True, kw_only=True)
class InputRequested(Event):
    type: ClassVar[str] = "input.requested"
    id: str
    name: str
    prompt: str
    schema: JsonObject
    answerers: JsonObject
    digest: str
    expires_at: Millis | None = None


@struct(frozen=True, slots=True, kw_only=True)
class InputVoted(Event):
    type: ClassVar[str] = "input.voted"
    id: str
    by: str
    votes: int
    quorum: int


@struct(frozen=True, slots=True, kw_only=True)
class InputAnswered(Event):
    type: ClassVar[str] = "input.answered"
    id: str
    outcome: Outcome
    value: Json = None
    reason: str | None = None
    by: str | None = None


@struct(frozen=True, slots=True, kw_only=True)
class UsageEvent(Event):
    type: ClassVar[str] = "usage"
    usage: Usage
    message: int


@struct(frozen=True, slots=True, kw_only=True)
class CompactionStarted(Event):
    type: ClassVar[str] = "compaction.started"
    durable: ClassVar[bool] = False


@struct(frozen=True, slots=True, kw_only=True)
class GuardrailFound(Event):
    type: ClassVar[str] = "guardrail.found"
    checkpoint: str
    kind: str
    subject: str
    action: str


@struct(frozen=True, slots=True, kw_only=True)
class TurnCompleted(Event):
    type: ClassVar[str] = "turn.completed"
    terminal: ClassVar[bool] = True
    text: str
    totals: JsonObject
    message: int | None = None


@struct(frozen=True, slots=True, kw_only=True)
class TurnFailed(Event):
    type: ClassVar[str] = "turn.failed"
    terminal: ClassVar[bool] = True
    error: str
    phase: str | None = None
    step: str | None = None


@struct(frozen=True, slots=True, kw_only=True)
class TurnCancelled(Event):
    type: ClassVar[str] = "turn.cancelled"
    terminal: ClassVar[bool] = True
    reason: CancelReason


@struct(frozen=True, slots=True, kw_only=True)
class TurnTimedOut(Event):
    type: ClassVar[str] = "turn.timed_out"
    terminal: ClassVar[bool] = True
    deadline: str


TurnEvent = (
    TurnQueued
    | TurnStarted
    | ReasoningDeltaEvent
    | MessageDeltaEvent
    | ToolInputDeltaEvent
    | ModelRetrying
    | ReasoningCompleted
    | MessageCompleted
    | ActionRequested
    | ActionProgress
    | ActionCompleted
    | InputRequested
    | InputVoted
    | InputAnswered
    | UsageEvent
    | CompactionStarted
    | GuardrailFound
    | TurnCompleted
    | TurnFailed
    | TurnCancelled
    | TurnTimedOut
)
