"""What the API refuses in a transcript: each rule is one 400.

Sources: platform.claude.com ("Handle tool calls", "Preserved thinking", "Errors") and the public
threads in which clients met the rule: a call without a result (charmbracelet/crush#1860), a result
without a call (anthropics/claude-code#3003), two results for one call, a repeated id
(BerriAI/litellm#23510), empty text (anthropic-sdk-python#461), a message of the model's at the end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gateway.engine.kinds import Json, JsonObject
from gateway.testing.fake_anthropic.binding import THINKING, prefix_hash, read, thinking_of
from gateway.testing.fake_anthropic.params import NAME, Rejected

_ID = re.compile(r"^[a-zA-Z0-9_-]+$")
_MOST_MESSAGES = 100_000
_MOST_IMAGES = 600
_USER_ONLY = frozenset({"document", "image", "search_result", "tool_result"})


def check_transcript(body: JsonObject) -> None:
    """Raise ``Rejected`` for the first thing in ``messages`` that the API would refuse."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Rejected("messages: at least one message is required")
    if len(messages) > _MOST_MESSAGES:
        raise Rejected(f"messages: at most {_MOST_MESSAGES} messages are allowed")
    objects = [_checked(index, message) for index, message in enumerate(messages)]
    if objects[0]["role"] != "user":
        raise Rejected('messages: first message must use the "user" role')
    _check_last(objects[-1])
    _check_pairs(objects)
    _check_images(objects)
    _check_thinking(body, messages)


def blocks_of(message: JsonObject) -> list[JsonObject]:
    """The message's blocks; a plain string is one text block."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [
        block for block in (content if isinstance(content, list) else ()) if isinstance(block, dict)
    ]


# -- one message -----------------------------------------------------------------------------------
def _checked(index: int, message: Json) -> JsonObject:
    at = f"messages.{index}"
    if not isinstance(message, dict) or message.get("role") not in {"user", "assistant"}:
        raise Rejected(f"{at}.role: Input should be 'user' or 'assistant'")
    blocks = blocks_of(message)
    if not blocks:
        raise Rejected(f"{at}: all messages must have non-empty content")
    for number, block in enumerate(blocks):
        _check_block(f"{at}.content.{number}", str(message["role"]), block)
    if message["role"] == "assistant" and all(block.get("type") in THINKING for block in blocks):
        raise Rejected(f"{at}: the final block in an assistant message cannot be thinking")
    return message


def _check_block(at: str, role: str, block: JsonObject) -> None:
    kind = block.get("type")
    if not isinstance(kind, str):
        raise Rejected(f"{at}.type: Field required")
    if kind == "text":
        _check_text(at, role, block)
    elif role == "assistant" and kind in _USER_ONLY:
        raise Rejected(f"{at}: {kind} blocks are not permitted in assistant messages")
    elif role == "user" and (kind == "tool_use" or kind in THINKING):
        raise Rejected(f"{at}: {kind} blocks are only permitted in assistant messages")
    elif kind == "tool_use":
        _check_tool_use(at, block)
    elif kind == "tool_result":
        _check_tool_result(at, block)


def _check_text(at: str, role: str, block: JsonObject) -> None:
    text = block.get("text")
    if not isinstance(text, str) or not text.strip():
        raise Rejected(f"{at}: text content blocks must contain non-whitespace text")
    if role == "user" and block.get("citations"):
        raise Rejected(f"{at}.text.citations: citations are not permitted on user text")
    _check_encodable(at, text)


def _check_encodable(at: str, text: str) -> None:
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise Rejected(f"{at}: the text is not valid Unicode")


def _check_tool_use(at: str, block: JsonObject) -> None:
    if not _ID.match(str(block.get("id") or "")):
        raise Rejected(f"{at}.tool_use.id: String should match pattern '{_ID.pattern}'")
    if not NAME.match(str(block.get("name") or "")):
        raise Rejected(f"{at}.tool_use.name: String should match pattern '{NAME.pattern}'")
    if not isinstance(block.get("input"), dict):
        raise Rejected(f"{at}.tool_use.input: Input should be a valid dictionary")


def _check_tool_result(at: str, block: JsonObject) -> None:
    content = block.get("content")
    for number, part in enumerate(content if isinstance(content, list) else ()):
        if isinstance(part, dict) and part.get("type") == "text":
            _check_text(f"{at}.content.{number}", "result", part)


# -- how messages go together ----------------------------------------------------------------------
def _check_last(message: JsonObject) -> None:
    if message["role"] == "assistant" and blocks_of(message)[-1].get("type") != "server_tool_use":
        raise Rejected(
            "This model does not support assistant message prefill."
            " The conversation must end with a user message."
        )


def _check_pairs(messages: Sequence[JsonObject]) -> None:
    seen: set[str] = set()
    for index, message in enumerate(messages):
        calls = _ids(message, "tool_use", "id")
        for call in calls:
            if call in seen:
                raise Rejected(f"messages.{index}: `tool_use` ids must be unique")
            seen.add(call)
        _check_results(index, messages, calls)
        if message["role"] == "user":
            asked = _ids(messages[index - 1], "tool_use", "id") if index else []
            _check_answers(index, message, asked)


def _check_results(index: int, messages: Sequence[JsonObject], calls: list[str]) -> None:
    following = messages[index + 1] if index + 1 < len(messages) else None
    given = _ids(following, "tool_result", "tool_use_id") if following else []
    missing = [call for call in calls if call not in given]
    if missing:
        raise Rejected(
            f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately"
            f" after: {', '.join(missing)}. Each `tool_use` block must have a corresponding"
            " `tool_result` block in the next message."
        )


def _check_answers(index: int, message: JsonObject, asked: list[str]) -> None:
    given = _ids(message, "tool_result", "tool_use_id")
    for answer in given:
        if answer not in asked:
            raise Rejected(
                f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks:"
                f" {answer}. Each `tool_result` block must have a corresponding `tool_use` block in"
                " the previous message."
            )
        if given.count(answer) > 1:
            raise Rejected(f"messages.{index}: each tool_use must have a single result: {answer}")
    kinds = [block.get("type") == "tool_result" for block in blocks_of(message)]
    if any(kinds) and not kinds[0]:
        raise Rejected(f"messages.{index}: `tool_result` blocks must come first in their message")


def _ids(message: JsonObject, kind: str, field: str) -> list[str]:
    return [str(block.get(field)) for block in blocks_of(message) if block.get("type") == kind]


def _check_images(messages: Sequence[JsonObject]) -> None:
    images = sum(len(_ids(message, "image", "type")) for message in messages)
    if images > _MOST_IMAGES:
        raise Rejected(f"messages: at most {_MOST_IMAGES} images are allowed per request")


def _check_thinking(body: JsonObject, messages: Sequence[Json]) -> None:
    """Every thinking block stands where it was made, word for word."""
    before: list[str] = []
    for index, message in enumerate(messages):
        blocks = thinking_of(message)
        prefix = prefix_hash(body, messages[:index]) if blocks else ""
        for number, block in enumerate(blocks):
            kind = str(block["type"])
            at = f"messages.{index}.content.{number}"
            proof = block.get(THINKING[kind])
            if not isinstance(proof, str) or not proof:
                raise Rejected(f"{at}.{kind}.{THINKING[kind]}: Field required")
            text = str(block.get("thinking", "")) if kind == "thinking" else None
            signature = read(proof)
            if signature is None or not signature.holds(prefix, before, text):
                raise Rejected(
                    f"{at}: Invalid `signature` in `{kind}` block. The block is bound to a"
                    " different conversation."
                )
            before.append(signature.id)
