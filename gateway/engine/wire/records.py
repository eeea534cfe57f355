"""JSON <-> records. Every stored body carries the wire version; an unknown one is refused.

Message body ``{"v":1,"b":[block…],"s":source,"t":trust}`` plus ``by``, ``stop``, ``ed`` when set.
Block ``{"k":kind,…}`` with kinds ``text reasoning call result attachment opaque``. Bodies are
written once and never rewritten, so that what goes to a model stays equal byte for byte.
"""

from __future__ import annotations

import hashlib
from decimal import Decimal
from typing import assert_never, cast

from gateway.engine.kinds import Json, JsonObject, Level, Role, Speaker, Trust, TurnRow
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
from gateway.engine.model import Edition, ToolSpec, Usage
from gateway.engine.records import MessageRow, UsageRow
from gateway.engine.wire.text import (
    WIRE_VERSION,
    UnknownWireVersion,
    canonical,
    clean,
    dumps_known,
    loads,
    versioned,
)


# -- blocks --------------------------------------------------------------------------------------
def block_json(block: Block) -> JsonObject:  # noqa: C901 - one arm per kind
    match block:
        case Text(text=text, raw=raw):
            return (
                {"k": "text", "text": text}
                if raw is None
                else {"k": "text", "text": text, "raw": raw}
            )
        case ToolCall():
            out: JsonObject = {
                "k": "call",
                "id": block.id,
                "name": block.name,
                "input": block.input,
            }
            if block.problem is not None:
                out["problem"] = block.problem
            if block.raw is not None:
                out["raw"] = block.raw
            return out
        case ToolResult():
            out = {
                "k": "result",
                "call_id": block.call_id,
                "name": block.name,
                "output": block.output,
            }
            if block.is_error:
                out["is_error"] = True
            if block.decision is not None:
                out["decision"] = block.decision
            return out
        case Reasoning(text=text, raw=raw):
            return {"k": "reasoning", "text": text, "raw": raw}
        case Attachment():
            return {
                "k": "attachment",
                "id": block.id,
                "name": block.name,
                "media_type": block.media_type,
                "size": block.size,
            }
        case Opaque(raw=raw):
            return {"k": "opaque", "raw": raw}
        case _:
            assert_never(block)


def block_from(value: Json) -> Block:
    if not isinstance(value, dict):
        raise UnknownWireVersion("a stored block is not an object")
    raw = cast("JsonObject | None", value.get("raw"))
    match value.get("k"):
        case "text":
            return Text(str(value["text"]), raw)
        case "call":
            problem = value.get("problem")
            return ToolCall(
                str(value["id"]),
                str(value["name"]),
                cast("JsonObject", value["input"]),
                None if problem is None else str(problem),
                raw,
            )
        case "result":
            return ToolResult(
                str(value["call_id"]),
                str(value["name"]),
                value["output"],
                value.get("is_error") is True,
                cast("JsonObject | None", value.get("decision")),
            )
        case "reasoning":
            return Reasoning(str(value["text"]), raw or {})
        case "attachment":
            return Attachment(
                str(value["id"]),
                str(value["name"]),
                str(value["media_type"]),
                cast("int", value["size"]),
            )
        case "opaque":
            return Opaque(raw or {})
        case kind:
            raise UnknownWireVersion(f"a stored block has the unknown kind {kind!r}")


# -- messages ------------------------------------------------------------------------------------
def message_body(message: Message) -> str:
    body: JsonObject = {
        "v": WIRE_VERSION,
        "b": [block_json(block) for block in message.blocks],
        "s": message.source,
        "t": message.trust,
    }
    if message.by is not None:
        body["by"] = message.by
    if message.stop is not None:
        body["stop"] = message.stop
    if message.edition is not None:
        body["ed"] = message.edition
    return dumps_known(body)


def message_row(message: Message, generation: int, turn: TurnRow) -> MessageRow:
    return MessageRow(
        generation=generation,
        index=message.index,
        turn=turn,
        role=message.role,
        body=message_body(message),
    )


def message_from(row: MessageRow) -> Message:
    value = versioned(row.body)
    return Message(
        index=row.index,
        role=row.role,
        blocks=tuple(block_from(block) for block in cast("list[Json]", value["b"])),
        turn_id=row.turn_id,
        source=str(value["s"]),
        trust=cast("Trust", value["t"]),
        by=cast("str | None", value.get("by")),
        stop=cast("str | None", value.get("stop")),
        edition=cast("str | None", value.get("ed")),
    )


_PUBLIC_KIND: dict[str, str] = {
    "call": "tool_call",
    "result": "tool_result",
    "reasoning": "reasoning",
    "text": "text",
    "attachment": "attachment",
    "opaque": "opaque",
}


def message_json(message: Message) -> JsonObject:
    """A message as the API shows it; provider blocks (signatures) stay inside."""
    content: list[Json] = []
    for block in message.blocks:
        shown = {key: value for key, value in block_json(block).items() if key not in {"k", "raw"}}
        content.append({"type": _PUBLIC_KIND[str(block_json(block)["k"])], **shown})
    role: Role = message.role
    out: JsonObject = {
        "index": message.index,
        "role": role,
        "turn_id": message.turn_id,
        "source": message.source,
        "trust": message.trust,
        "content": content,
    }
    if message.by is not None:
        out["by"] = message.by
    return out


# -- speakers, editions, usage ----------------------------------------------------------------------
def speaker_json(speaker: Speaker | None) -> Json:
    if speaker is None:
        return None
    return {
        "id": speaker.id,
        "name": speaker.name,
        "tenant": speaker.tenant,
        "level": speaker.level,
        "linked": list(speaker.linked),
    }


def speaker_from(value: Json) -> Speaker | None:
    if not isinstance(value, dict):
        return None
    return Speaker(
        id=str(value["id"]),
        name=str(value["name"]),
        tenant=str(value["tenant"]),
        level=cast("Level", value["level"]),
        linked=tuple(str(item) for item in cast("list[Json]", value["linked"])),
    )


def make_edition(
    *, model: str, system: str, tools: tuple[ToolSpec, ...], settings: JsonObject
) -> Edition:
    body = canonical(
        {
            "v": WIRE_VERSION,
            "model": model,
            "system": system,
            "tools": [
                {"name": t.name, "description": t.description, "input_schema": t.input_schema}
                for t in tools
            ],
            "settings": settings,
        }
    )
    hashed = hashlib.sha256(body.encode()).hexdigest()[:32]
    return Edition(hashed, body, model, clean(system), tools, settings)


def edition_from(hashed: str, body: str) -> Edition:
    value = versioned(body)
    tools = tuple(
        ToolSpec(str(t["name"]), str(t["description"]), cast("JsonObject", t["input_schema"]))
        for t in cast("list[JsonObject]", value["tools"])
    )
    return Edition(
        hashed,
        body,
        str(value["model"]),
        str(value["system"]),
        tools,
        cast("JsonObject", value["settings"]),
    )


def cost_text(usage: Usage) -> str | None:
    return None if usage.cost is None else format(usage.cost, "f")


def totals_json(usage: Usage) -> JsonObject:
    """Sums of a turn."""
    return {
        "input": usage.input,
        "output": usage.output,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "cost": cost_text(usage),
    }


def usage_json(usage: Usage) -> JsonObject:
    return {
        "model": usage.model,
        **totals_json(usage),
        "context": usage.context,
        "estimated": usage.estimated,
    }


def usage_from(row: UsageRow) -> Usage:
    return Usage(
        model=row.model,
        input=row.input,
        output=row.output,
        cache_read=row.cache_read,
        cache_write=row.cache_write,
        cost=None if row.cost is None else Decimal(row.cost),
        prices=row.prices or "",
        raw=None if row.raw is None else loads(row.raw),
        estimated=row.estimated,
    )
