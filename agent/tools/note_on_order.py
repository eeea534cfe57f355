"""Leaving a note for colleagues."""

from __future__ import annotations

from gateway import ToolContext, tool

from .._orders import Orders


@tool
def note_on_order(ctx: ToolContext, order_id: str, note: str) -> dict[str, object]:
    """Write a note on an order for the colleagues who handle it next."""
    orders = Orders(ctx)
    if orders.find(order_id) is None:
        return {"noted": False, "reason": f"there is no order {order_id}"}
    return {"noted": True, "notes": orders.add_note(order_id, note)}
