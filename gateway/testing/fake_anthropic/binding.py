"""Signatures that bind a thinking block to what came before it, as newer models do.

What is bound (platform.claude.com, "Preserved thinking"): system, tools, and every earlier message,
cache markers aside. Thinking may be left out from the start of a conversation, and nowhere else. A
signature here is readable: the hash of the prefix, the ids of all thinking before the block, and
the hash of the block's own text, sealed so that none of it can be made up.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.engine.kinds import Json, JsonObject

_SEAL = b"a fake's seal keeps nobody out"
THINKING = {"thinking": "signature", "redacted_thinking": "data"}
"""Thinking blocks, and the field that proves where they come from."""


def prefix_hash(body: JsonObject, messages: Sequence[Json]) -> str:
    """Of all that a thinking block after ``messages`` is bound to, thinking itself aside."""
    said = [bare for message in messages if (bare := _bare(message)) is not None]
    return _hash(_unmarked([body.get("system"), body.get("tools"), *said]))


def sign(prefix: str, before: Sequence[str], text: str) -> str:
    """The signature of a block with this text after that prefix and those earlier blocks."""
    body = json.dumps({"prefix": prefix, "before": list(before), "text": _hash(text)})
    seal = hmac.new(_SEAL, body.encode(), "sha256").hexdigest()[:16]
    return base64.b64encode(f"{seal}{body}".encode()).decode()


@dataclass(frozen=True, slots=True)
class Signature:
    id: str
    prefix: str
    before: tuple[str, ...]
    text: str

    def holds(self, prefix: str, before: Sequence[str], text: str | None) -> bool:
        """Whether the block stands where it was made. ``text`` is ``None`` for redacted ones."""
        kept = tuple(before)
        return (
            self.prefix == prefix
            and self.before[len(self.before) - len(kept) :] == kept
            and (text is None or self.text == _hash(text))
        )


def read(signature: str) -> Signature | None:
    """The signature, or ``None`` for one that this server never made."""
    try:
        whole = base64.b64decode(signature, validate=True).decode()
        seal, body = whole[:16], whole[16:]
        if not hmac.compare_digest(hmac.new(_SEAL, body.encode(), "sha256").hexdigest()[:16], seal):
            return None
        read = json.loads(body)
        return Signature(
            id_of(signature),
            str(read["prefix"]),
            tuple(map(str, read["before"])),
            str(read["text"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


def id_of(signature: str) -> str:
    return hashlib.sha256(signature.encode()).hexdigest()[:12]


def thinking_of(message: Json) -> list[JsonObject]:
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else []
    return [b for b in blocks if isinstance(b, dict) and b.get("type") in THINKING]


def _bare(message: Json) -> Json | None:
    """The message without its thinking (whether some was left out is checked by ids), or ``None``
    when nothing is left."""
    if not isinstance(message, dict):
        return None
    content = message.get("content")
    plain: JsonObject = {"type": "text", "text": content}
    blocks = content if isinstance(content, list) else [plain]
    kept: list[Json] = [
        block for block in blocks if not (isinstance(block, dict) and block.get("type") in THINKING)
    ]
    return {**message, "content": kept} if kept else None


def _unmarked(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _unmarked(item) for key, item in value.items() if key != "cache_control"}
    if isinstance(value, list):
        return [_unmarked(item) for item in value]
    return value


def _hash(value: Json) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:24]
