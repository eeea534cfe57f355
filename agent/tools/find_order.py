"""Looking an order up."""

from __future__ import annotations

from gateway import ToolContext, tool

from .._orders import Orders


@tool(effect="read")
def find_order(ctx: ToolContext, order_id: str) -> dict[str, object]:
    """Look up one order by its number: what was bought, for how much, and where it is."""
    orders = Orders(ctx)
    order = orders.find(order_id)
    if order is None:
        return {"found": False, "order_id": order_id}
    return {"found": True, "order": order, "notes": orders.notes(order.id)}
