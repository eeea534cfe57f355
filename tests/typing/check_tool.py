"""What a type checker knows of ``@tool``: mypy and pyright read this file, nothing runs it."""

from __future__ import annotations

from typing import assert_type

from gateway import Agent, ModelReply, ModelRequest, Schedule, Surface, Target, Tool, ToolContext
from gateway import tool as make_tool


@make_tool
def bare(ctx: ToolContext, order_id: str) -> dict[str, object]:
    """Read."""
    return {"id": order_id, "turn": ctx.turn_id}


@make_tool(effect="read", timeout=5)
def with_options(order_id: str) -> str:
    """Read."""
    return order_id


@make_tool(effect="money", key=("order_id",), answerers={"policy": "refunds"})
async def money(ctx: ToolContext, order_id: str) -> str:
    """Pay."""
    return ctx.idempotency_key + order_id


@make_tool(parallel=True)
async def fetch(url: str) -> str:
    """Fetch."""
    return url


assert_type(bare, Tool)
assert_type(with_options, Tool)
assert_type(money, Tool)
assert_type(fetch, Tool)
assert_type(money.remote, bool)


def plain(order_id: str) -> str:
    """Not async."""
    return order_id


make_tool(effect="money", key=("order_id",))(plain)  # type: ignore[arg-type]
make_tool(effect="external")(plain)  # type: ignore[arg-type]
make_tool(effect="money")  # type: ignore[call-overload]
make_tool(effect="delete")  # type: ignore[call-overload]


def reply(request: ModelRequest) -> ModelReply:
    assert_type(request.text, str)
    return ModelReply.call("find_order", text="Let me look.", order_id="1042")


Agent(name="june", model="scripted", surfaces={"slack": Surface(deny_tools={"bare"})})
Agent(model="scripted")  # type: ignore[call-arg]
Schedule(cron="0 9 * * *", seed="digest", target=Target("slack", "C0123"))
Schedule(cron="0 9 * * *", seed="digest", missed="never")  # type: ignore[arg-type]
