"""From when on a mailbox's mail is ours to answer.

Who sets June up on a mailbox that was in use doesn't want letters of last year answered. So the first start
draws a line, once, and what came before stays where it is, unread by us.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import cast

from channels.email.settings import EmailSettings
from channels.protocol import ChannelContext
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Document

__all__ = ["since"]

KIND = "email-since"
ALL = "all"
MARGIN = 600_000
"""Milliseconds. A mail server's clock isn't ours."""


async def since(ctx: ChannelContext, settings: EmailSettings) -> Millis:
    """As ``EMAIL_SINCE`` says, else the moment of the first start. Raises ``StoreUnavailableError``."""
    if settings.since == ALL:
        return Millis(0)
    if settings.since:
        day = datetime.fromisoformat(settings.since).replace(tzinfo=UTC)
        return Millis(round(day.timestamp() * 1000))
    while True:
        row = await ctx.ledger.document(KIND, settings.address)
        if row is not None:
            return Millis(cast("int", row.body["at"]))
        made = Document(kind=KIND, key=settings.address, body={"at": ctx.clock.now() - MARGIN})
        await ctx.ledger.put_document(made, None)
