"""Mails that others wrote, by their ids: what answers one of them belongs where it does."""

from __future__ import annotations

from collections.abc import Sequence

from channels.email.threads import places
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Asked, Binding, Ledger
from gateway.engine.records import PlaceBound

__all__ = ["belongs", "cited"]


async def cited(
    ledger: Ledger, mailbox: str, event: str, ids: Sequence[str]
) -> tuple[Binding, ...]:
    """Where the mails with these ids belong, in their order, those that are known."""
    if not ids:
        return ()
    named = tuple(places.message(mailbox, one) for one in ids)
    return (await ledger.known(Asked(source="email", event_id=event, places=named))).bindings


async def belongs(
    ledger: Ledger, mailbox: str, message_id: str, there: Sequence[Binding], at: Millis
) -> None:
    """A mail that opens no turn belongs where one that it answers does: some programs name in their answer
    nothing but the mail that they answer."""
    if message_id and there:
        place = places.message(mailbox, message_id)
        agent, session = there[0].agent, there[0].session
        await ledger.note(
            [PlaceBound(place=place, agent=agent, session=session, kind="thread", at=at)]
        )
