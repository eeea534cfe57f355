"""What June's tools reach outside the gateway, and who may approve a refund."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ._payments import Payments

OPERATORS = ("api:", "cli:", "console:")
"""Who already runs this gateway: a token of its API, its command line, its console."""


@dataclass(frozen=True, slots=True)
class Services:
    payments: Payments
    refund_approvers: tuple[str, ...]
    """Identities, or prefixes that end with a colon (``slack:T024BE7LH:``)."""


def build_services(env: Mapping[str, str]) -> Services:
    """``REFUND_APPROVERS`` names who decides, separated by commas; unset, the operators do.
    ``PAYMENTS_STUB_SECONDS`` makes the payments provider slow to answer."""
    state = Path(env.get("GATEWAY_STATE") or ".gateway")
    named = env.get("REFUND_APPROVERS")
    return Services(
        payments=Payments(
            state / "payments-stub.db",
            answer_after=float(env.get("PAYMENTS_STUB_SECONDS") or 0),
        ),
        refund_approvers=OPERATORS
        if named is None
        else tuple(name.strip() for name in named.split(",") if name.strip()),
    )


async def authorize_answer(  # noqa: PLR0913 - the hook's arguments are given
    *,
    policy: str,
    scope: str | None,
    by: str,
    principal: object,
    request: object,
    speaker: object,
    services: object,
) -> bool:
    """Refunds are for the listed approvers; whatever isn't known here is refused."""
    if policy != "refunds" or not isinstance(services, Services):
        return False
    return any(
        by.startswith(name) if name.endswith(":") else by == name
        for name in services.refund_approvers
    )
