"""What other installations than today's began. Everything is kept under the installation by which it came, and
where an organisation takes a workspace's place that is another one: its ids stay, and what is open there doesn't
move. Nobody is to find that out by himself.

Source: "Migrating existing apps to Enterprise Grid" in Slack's docs (docs.slack.dev): a workspace's token goes on
working beside the organisation's.
"""

from __future__ import annotations

import logging
from typing import Final

from channels.slack.parsing.envelope import text
from gateway.engine.ledger import DeliveryState, Installation, Ledger

__all__ = ["tell_of_left", "tell_of_workspaces"]

log = logging.getLogger("gateway.slack")

OPEN: Final[tuple[DeliveryState, ...]] = ("due", "sending", "resting")
MOST: Final = 1_000
NEXT: Final = (
    "buttons of theirs decide nothing and replies without a mention aren't heard: decide with `gateway approvals"
    " list`, and mention the app in a thread to go on there"
)


async def tell_of_left(ledger: Ledger, key: str) -> None:
    """Of answers and cards that a token began in whose place there is another. Raises
    ``StoreUnavailableError``."""
    rows = [row for state in OPEN for row in await ledger.deliveries(state=state, limit=MOST)]
    others = [text(row.target, "installation") for row in rows if row.source == "slack"]
    for other in sorted({*others} - {key, ""}):
        told = "Slack: %d answers and cards were begun by installation %s, and SLACK_BOT_TOKEN is of %s: %s"
        log.warning(told, others.count(other), other, key, NEXT)


async def tell_of_workspaces(ledger: Ledger, org: Installation) -> None:
    """Of an organisation's workspaces in which the app was installed before. Raises ``StoreUnavailableError``."""
    for row in await ledger.installations(org.app):
        if not row.org and row.enterprise == org.enterprise and row.state == "active":
            told = (
                "installation %s is of the organisation of %s, which has the app by itself: what was begun there ends"
                " there while that installation stays; where events come by the organisation, %s"
            )
            log.warning(told, row.key, org.key, NEXT)
