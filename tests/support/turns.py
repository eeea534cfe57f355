"""An agent whose turn meets everything: sync and async tools, a failing one, parallel ones, an
approval. And what a turn left behind, in a form that two runs can be compared by."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from gateway.engine.agent import AgentDef
from gateway.engine.kinds import Json, SessionRef
from gateway.engine.messages import Text, ToolCall
from gateway.engine.model import ModelReply, ModelRequest, Usage
from gateway.engine.ports import SessionStore
from gateway.engine.steps.context import ToolContext
from gateway.engine.tool import Tool, tool
from gateway.models.scripted import ScriptedModel


def calls(*asked: tuple[str, dict[str, Json]], text: str = "") -> ModelReply:
    blocks = tuple(ToolCall("", name, dict(arguments)) for name, arguments in asked)
    said = (Text(text),) if text else ()
    return ModelReply(blocks=(*said, *blocks), stop="tool_use", usage=Usage(input=10, output=5))


def replies(*script: ModelReply) -> Callable[[ModelRequest], ModelReply]:
    """The nth reply of a turn is the nth of the script; the last one repeats."""

    def reply(request: ModelRequest) -> ModelReply:
        given = sum(message.role == "assistant" for message in request.turn)
        return script[min(given, len(script) - 1)]

    return reply


class Effects:
    """What async tools did to the outside, kept by the test: it outlives every crash."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def count(self, name: str) -> int:
        return sum(1 for seen, _ in self.seen if seen == name)


def everything(effects: Effects) -> AgentDef:
    @tool
    def note(ctx: ToolContext, text: str) -> dict[str, Any]:
        """Write a row through the store."""
        handle = ctx.store.unwrap()
        if handle is not None:
            handle.execute("create table if not exists notes(call text, note text)")
            handle.execute("insert into notes values (?, ?)", (ctx.idempotency_key, text))
        return {"noted": text}

    @tool
    def broken(ctx: ToolContext, text: str) -> dict[str, Any]:
        """Write a row, then fail: the row must not stay."""
        handle = ctx.store.unwrap()
        if handle is not None:
            handle.execute("create table if not exists notes(call text, note text)")
            handle.execute("insert into notes values (?, ?)", (ctx.idempotency_key, text))
        raise ValueError("on purpose")

    @tool
    async def effect(ctx: ToolContext, name: str) -> dict[str, Any]:
        """Do something outside."""
        effects.seen.append((name, ctx.idempotency_key))
        return {"done": name}

    @tool(parallel=True)
    async def side(ctx: ToolContext, name: str) -> dict[str, Any]:
        """Do something outside, beside others."""
        effects.seen.append((name, ctx.idempotency_key))
        return {"done": name}

    @tool(effect="money", key=("order",))
    async def refund(ctx: ToolContext, order: str) -> dict[str, Any]:
        """Refund an order once a person approves."""
        approved = await ctx.request_input(id="approve", prompt=f"Refund {order}?")
        if approved:
            effects.seen.append((f"refund {order}", ctx.idempotency_key))
        return {"refunded": bool(approved)}

    script = replies(
        calls(
            ("note", {"text": "one"}),
            ("effect", {"name": "a"}),
            ("broken", {"text": "no"}),
            text="first",
        ),
        calls(("refund", {"order": "1042"}), ("note", {"text": "two"})),
        calls(("side", {"name": "b"}), ("side", {"name": "c"}), ("missing", {})),
        ModelReply.say("all done"),
    )
    tools: Mapping[str, Tool] = {t.name: t for t in (note, broken, effect, side, refund)}
    return AgentDef(name="june", model=ScriptedModel(script), instructions="Be kind.", tools=tools)


ASYNC_EFFECTS = ("a", "b", "c", "refund 1042")


async def left_behind(store: SessionStore, ref: SessionRef, turn_id: str) -> dict[str, Any]:
    """Transcript, event log, steps and turn row, without times, durations, attempts, random ids."""
    turn = await store.turn(ref, turn_id)
    assert turn is not None
    messages = await store.messages(ref, turn.generation)
    logged = await store.events(ref, turn.row)
    requests = await store.requests(turn.row)
    return {
        "state": turn.state,
        "answer": turn.answer,
        "messages": [(m.index, m.role, _plain(m.body)) for m in messages],
        "events": _in_call_order(
            [_event(e.event.type, e.event.seq, e.event.ref, e.event.body) for e in logged]
        ),
        "steps": sorted((s.step, s.done, s.message, s.body) for s in await store.steps(turn.row)),
        "requests": [(r.key, r.digest, r.outcome, r.value, r.by) for r in requests],
        "usage": await store.usage_totals(turn.row),
    }


def _plain(body: str) -> str:
    value = json.loads(body)
    for block in value["b"]:
        if block.get("decision"):
            block["decision"].pop("at")
    return json.dumps(value, sort_keys=True)


def _in_call_order(events: list[tuple[int, str, int | None, str]]) -> list[tuple[object, ...]]:
    """Calls marked parallel end in any order; everything else has one."""
    told = [(kind, ref, body) for _, kind, ref, body in events]
    for place in range(len(told) - 1):
        pair = told[place : place + 2]
        if all(kind == "action.completed" and "side" in body for kind, _, body in pair):
            told[place : place + 2] = sorted(pair, key=lambda one: one[1] or 0)
    return [(seq, *one) for (seq, *_), one in zip(events, told, strict=True)]


def _event(
    kind: str, seq: int, ref: int | None, body: str | None
) -> tuple[int, str, int | None, str]:
    told = json.loads(body) if body else None
    if isinstance(told, dict):
        told = {k: v for k, v in told.items() if k not in {"id", "expires_at"}}
    if kind == "action.completed" and isinstance(told, list):
        told = [told[0], *told[2:]]
    return (seq, kind, ref, json.dumps(told, sort_keys=True))


# An author's tools are made when their file is imported; so is pydantic's share of that work.
everything(Effects())
