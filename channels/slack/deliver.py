"""What Slack shows of a turn: its reply, the line of who waits behind another, the cards of its requests."""

from __future__ import annotations

from channels.contract import SentOrNot, Undeliverable
from channels.protocol import CARD, QUEUED, ChannelContext, TurnStream
from channels.slack.calls import SlackApi
from channels.slack.cards.deliver import deliver_card, reconcile_card
from channels.slack.settings import SlackOptions
from channels.slack.writing import reconcile as reconciling
from channels.slack.writing.acts import target_of
from channels.slack.writing.note import note
from channels.slack.writing.writer import write
from gateway.engine.ledger import Delivery, Ledger


async def deliver(
    events: TurnStream,
    delivery: Delivery,
    ctx: ChannelContext,
    api: SlackApi,
    options: SlackOptions,
) -> None:
    """Bring a place up to date and settle the delivery; a delivery that has shown something before goes
    on where its parts say. Raises ``RetryLater``, ``Undeliverable`` and ``LeaseLostError``."""
    if delivery.part.startswith(CARD):
        return await deliver_card(delivery, ctx, api, options)
    to = target_of(delivery.target)
    if to is None:
        raise Undeliverable("no_place", "the turn's target names no channel")
    show = note if delivery.part == QUEUED else write
    return await show(events, delivery, to, ctx, api, options)


async def reconcile(delivery: Delivery, api: SlackApi, ledger: Ledger) -> SentOrNot:
    """What became of the part whose send was begun and never confirmed. Raises
    ``StoreUnavailableError``."""
    if delivery.part.startswith(CARD):
        return await reconcile_card(delivery, api)
    return await reconciling.reconcile(delivery, api, ledger)
