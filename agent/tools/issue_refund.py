"""Giving money back, once a person agrees."""

from __future__ import annotations

from decimal import Decimal

from gateway import ToolContext, tool

from .._payments import PaymentRefusedError
from .._services import Services

TWO_PEOPLE_ABOVE = Decimal(500)


@tool(effect="money", key=("order_id",), answerers={"policy": "refunds"})
async def issue_refund(ctx: ToolContext, order_id: str, amount: Decimal) -> dict[str, object]:
    """Give money back for an order, once a person has approved it. Look the order up first."""
    services: Services = ctx.services
    try:
        charge = await services.payments.charge(order_id)
    except PaymentRefusedError as error:
        return {"refunded": False, "reason": str(error)}
    earlier = await services.payments.refund_of(charge)
    if earlier is not None and earlier.reference != ctx.turn_id:
        return {"refunded": False, "reason": f"it was refunded before, as {earlier.id}"}
    if not 0 < amount <= charge.amount:
        return {"refunded": False, "reason": f"between $0.01 and ${charge.amount} can be refunded"}

    approved = await ctx.request_input(
        id="approve-refund",
        prompt=f"Refund ${amount:.2f} on order {charge.order_id}, card ending {charge.card}?",
        schema=bool,
        answerers={"policy": "refunds", "quorum": 2 if amount > TWO_PEOPLE_ABOVE else 1},
    )
    if approved is not True:
        return {"refunded": False, "reason": "not approved"}

    # A crash may have come after the payment: asked again, the provider finds it by its key.
    refund = await services.payments.refund(
        charge, amount, idempotency_key=ctx.idempotency_key, reference=ctx.turn_id
    )
    return {"refunded": True, "refund": refund.id, "amount": refund.amount, "card": charge.card}
