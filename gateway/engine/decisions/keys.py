"""Idempotency keys and digests. Pure."""

from __future__ import annotations

import hashlib

from gateway.engine.kinds import JsonObject, SessionRef
from gateway.engine.messages import ToolCall
from gateway.engine.tool import Tool
from gateway.engine.wire import canonical


def idempotency_key(
    ref: SessionRef, turn_id: str, step: str, call: ToolCall, tool: Tool | None
) -> str:
    """Stable over replays of this call, different for every other one.

    A ``money`` tool's key names the business fact instead (agent, tool, the arguments it declared
    as ``key``), so that a model that asks again can't move the money twice.
    """
    if tool is not None and tool.key:
        parts = [ref.agent, tool.name, *(canonical(call.input.get(name)) for name in tool.key)]
    else:
        parts = [ref.agent, ref.key, turn_id, step]
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:32]


def request_digest(
    tool: str, arguments: JsonObject, prompt: str, schema: JsonObject, answerers: JsonObject
) -> str:
    """What an answer is bound to: it counts only for exactly this tool, these arguments, this
    wording, this form, these answerers."""
    told: JsonObject = {
        "tool": tool,
        "arguments": arguments,
        "prompt": prompt,
        "schema": schema,
        "answerers": answerers,
    }
    return hashlib.sha256(canonical(told).encode()).hexdigest()
