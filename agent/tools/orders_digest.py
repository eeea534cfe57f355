"""The day at a glance."""

from __future__ import annotations

from collections import Counter

from gateway import ToolContext, tool

from .._orders import Orders


@tool(effect="read")
def orders_digest(ctx: ToolContext) -> dict[str, object]:
    """Sum up all orders: how many are in which state, and which ones need a person."""
    orders = Orders(ctx).all()
    return {
        "orders": len(orders),
        "by_status": dict(Counter(order.status for order in orders)),
        "needs_attention": [order for order in orders if order.status == "late"],
    }
