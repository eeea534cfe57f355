"""Idempotency keys and digests. Pure."""

from __future__ import annotations

import hashlib
import inspect
import secrets
from collections.abc import Collection, Iterable, Mapping
from typing import cast

from gateway.engine.arguments import InvalidToolInput
from gateway.engine.decisions.position import call_step
from gateway.engine.errors import InvalidInputError
from gateway.engine.kinds import JsonObject, SessionRef
from gateway.engine.messages import Message, ToolCall
from gateway.engine.schema import to_json
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
        given = _spelled_once(tool, call.input)
        parts = [ref.agent, tool.name, *(canonical(given.get(name)) for name in tool.key)]
    else:
        parts = [ref.agent, ref.key, turn_id, step]
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:32]


def keys_of(
    ref: SessionRef,
    messages: Iterable[Message],
    steps: Collection[str],
    tools: Mapping[str, Tool],
) -> dict[str, str]:
    """The key of each of these steps' calls, for whoever has to look into what became of them."""
    if not steps:
        return {}
    return {
        step: idempotency_key(ref, message.turn_id, step, call, tools.get(call.name))
        for message in messages
        for call in message.calls
        if (step := call_step(message.index, call.id)) in steps
    }


def _spelled_once(tool: Tool, given: JsonObject) -> JsonObject:
    """The arguments as the tool gets them: ``5`` and ``5.0``, a default that is written out and one
    that is left out are one and the same payment."""
    try:
        read = {name: to_json(value) for name, value in tool.validate(given).items()}
    except (InvalidToolInput, TypeError, ValueError):
        read = given
    parameters = inspect.signature(tool.run).parameters
    for name in tool.key:
        if name not in read and name in parameters:
            default = cast("object", parameters[name].default)
            if default is not inspect.Parameter.empty:
                read = {**read, name: to_json(default)}
    return read


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


KEY_LENGTH = 512


def new_turn_id() -> str:
    return f"turn_{secrets.token_hex(12)}"


def check_key(key: str, what: str) -> None:
    """Keys travel in headers and paths: printable, no spaces at the ends, not too long."""
    if not key or len(key) > KEY_LENGTH or not key.isprintable() or key != key.strip():
        raise InvalidInputError(
            f"{what} must be 1 to {KEY_LENGTH} printable characters",
            fix=f"choose another {what}",
        )
