"""What the fake says when nobody scripted it: enough to try an agent by hand without a key.

It echoes; when the message names a tool (or says "use" or "call") it calls the closest one with
arguments made from the tool's schema, and then reports what the tool answered.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gateway.engine.kinds import Json, JsonObject
from gateway.testing.fake_anthropic.params import thinks
from gateway.testing.fake_anthropic.spec import Call, Part, Reply, Say, Think
from gateway.testing.fake_anthropic.transcript import blocks_of

_ENVELOPE = re.compile(r"[^\n]*\n<(unverified-[0-9a-f]+)>\n(.*)\n</\1>", re.DOTALL)
"""What the adapter puts around a message that nobody vouches for."""
_ANY_TOOL = frozenset({"call", "tool", "use"})


def canned(body: JsonObject) -> Reply:
    messages = body.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    blocks = blocks_of(last) if isinstance(last, dict) else []
    thought: list[Part] = [Think("Let me see what is asked.")] if thinks(body) else []
    results = [block for block in blocks if block.get("type") == "tool_result"]
    if results:
        return Reply(
            content=[*thought, Say("The tool answered: " + "; ".join(map(_said, results)))]
        )
    text = _ENVELOPE.sub(r"\2", " ".join(_said(block) for block in blocks)).strip()
    tool = _closest(text, body)
    if tool is not None:
        arguments = _arguments(tool.get("input_schema"), text)
        return Reply(content=[*thought, Call(str(tool["name"]), arguments)])
    return Reply(content=[*thought, Say(f"You said: {text}")])


def _said(block: JsonObject) -> str:
    content = block.get("text") or block.get("content")
    if isinstance(content, list):
        return " ".join(_said(part) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _closest(text: str, body: JsonObject) -> JsonObject | None:
    listed = body.get("tools")
    tools = [t for t in (listed if isinstance(listed, list) else ()) if isinstance(t, dict)]
    words = _words(text)
    closest: JsonObject | None = tools[0] if tools and words & _ANY_TOOL else None
    most = 0
    for tool in tools:
        shared = len(words & _words(str(tool.get("name"))))
        if shared > most:
            closest, most = tool, shared
    return closest


def _words(text: str) -> set[str]:
    return {word.rstrip("s") for word in re.findall(r"[a-z]{3,}", text.lower())}


def _arguments(schema: Json, text: str) -> JsonObject:
    """A value for each required property, taken from the text where it has one of that type."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    required = schema.get("required") if isinstance(schema, dict) else None
    names = required if isinstance(required, list) else []
    fields = properties if isinstance(properties, dict) else {}
    numbers = re.findall(r"\b\d+(?:\.\d+)?\b", text)
    return {str(name): _value(fields.get(str(name)), text, numbers) for name in names}


def _value(schema: Json, text: str, numbers: Sequence[str]) -> Json:
    about = schema if isinstance(schema, dict) else {}
    if isinstance(options := about.get("enum"), list) and options:
        return options[0]
    number = numbers[0] if numbers else "1"
    match about.get("type"):
        case "integer":
            return int(float(number))
        case "number":
            return float(number)
        case "boolean":
            return True
        case "array":
            return []
        case "object":
            return {}
        case _:
            return number if numbers else text[:80] or "example"
