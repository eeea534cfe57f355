"""What a finished stream comes to: a reply, or the failure of the step.

The table is ``stop_reason`` → action (platform.claude.com, "Handling stop reasons"). A step's
outcome is decided only by a complete stream with a known stop reason, and silence is never success.
"""

from __future__ import annotations

from collections.abc import Callable

from gateway.engine.errors import ModelError, ModelUnavailableError
from gateway.engine.kinds import JsonObject
from gateway.engine.messages import Block, Opaque, Text, ToolCall
from gateway.engine.model import NORMAL_STOPS, ModelReply, Usage
from gateway.engine.struct import replace
from gateway.models._accumulate import Message

_FIX = {
    "max_tokens": (
        "raise max_tokens in agent.py, or lower the effort: thinking counts inside max_tokens"
    ),
    "refusal": "rephrase the request or the instructions, or name another model",
    "model_context_window_exceeded": "reset the session, or send less: the conversation is too long",
}
_OTHER_FIX = "upgrade june-gateway: this release doesn't know that stop reason"

_CUT = (
    "This call was cut off (the reply stopped with {}), so the tool did not run."
    " Send it again, shorter, or one call at a time."
)


def judge(message: Message, usage: Callable[[Message], Usage]) -> ModelReply:
    """The reply, or ``ModelUnavailableError`` (ask again) or ``ModelError`` (asking again is no use)."""
    stop = message.stop
    if stop is None:
        raise ModelUnavailableError("the model's stream ended without a stop reason")
    if stop in NORMAL_STOPS:
        _must_say_something(message, stop)
        return ModelReply(blocks=message.blocks, stop=stop, usage=usage(message))
    if not _worth_keeping(message.blocks, stop):
        raise ModelError(
            f"the model stopped with {stop} and said nothing{_why(message.stop_details)}",
            fix=_FIX.get(stop, _OTHER_FIX),
        )
    # The last call may be cut at a place where it still reads as JSON, so none of them runs (T19).
    blocks = tuple(
        replace(block, problem=_CUT.format(stop)) if isinstance(block, ToolCall) else block
        for block in message.blocks
    )
    return ModelReply(blocks=blocks, stop=stop, usage=usage(message))


def _must_say_something(message: Message, stop: str) -> None:
    """An empty reply is asked for again: committed, it would be silence to the person, and an
    assistant message that can't be sent back (T06). The engine bounds how often."""
    calls = any(isinstance(block, ToolCall) for block in message.blocks)
    if stop == "tool_use" and not calls:
        raise ModelUnavailableError("the model stopped for a tool call and made none")
    if not calls and not _visible(message.blocks):
        raise ModelUnavailableError(f"the model ended its turn ({stop}) without a word")


def _worth_keeping(blocks: tuple[Block, ...], stop: str) -> bool:
    """A cut call alone is worth an answer only where a shorter one would fit."""
    return _visible(blocks) or (
        stop == "max_tokens" and any(isinstance(block, ToolCall) for block in blocks)
    )


def _visible(blocks: tuple[Block, ...]) -> bool:
    return any(
        isinstance(block, Opaque) or (isinstance(block, Text) and bool(block.text.strip()))
        for block in blocks
    )


def _why(details: JsonObject) -> str:
    """What the provider says of a refusal: ``stop_details`` with ``category``, ``explanation``."""
    said = [str(details[key])[:300] for key in ("category", "explanation") if details.get(key)]
    return f" ({': '.join(said)})" if said else ""
