"""Where a delivery goes, spelled out.

What came from Slack says where its answer goes. An author or an API client names a channel only
(``slack:C0123``, or ``slack:T0123:C0123``): its workspace is the one that the turn came from, or the only one
there is.
"""

from __future__ import annotations

import re

from channels.contract import Undeliverable
from channels.protocol import ChannelContext
from channels.slack.parsing.envelope import slack_id, text
from channels.slack.writing.acts import target_of
from gateway.engine.ledger import Delivery
from gateway.engine.struct import replace

_ADDRESS = re.compile(r"([TE][A-Z0-9]+:)?[CDG][A-Z0-9]+")

_WRITE = (
    "write slack:C0123ABCD, the id at the end of Slack's View channel details; with its workspace it is"
    " slack:T0123ABCD:C0123ABCD"
)


def misspelt(address: str) -> tuple[str, str] | None:
    """What is wrong with an address that an author wrote, and what to write instead."""
    if _ADDRESS.fullmatch(address):
        return None
    person = re.fullmatch(r"[UW][A-Z0-9]{5,}", address) is not None
    said = "that is the id of a person" if person else f"{address} is no channel's id"
    return said, _WRITE


async def placed(delivery: Delivery, ctx: ChannelContext, only: str | None) -> Delivery:
    """The delivery with a target that names its channel and installation. ``only`` is the one
    installation of an app that has a token for no other.

    Raises ``Undeliverable`` when nothing says where it goes.
    """
    target = delivery.target
    if target_of(target) is not None:
        return delivery
    before, _, channel = text(target, "address").rpartition(":")
    channel = channel or slack_id(target, "channel")
    if not channel:
        raise Undeliverable(
            "no_place", "the target names no channel; nothing can be shown anywhere"
        )
    home = before or slack_id(target, "installation")
    if not home:
        home = slack_id((await ctx.turn(delivery)).event or {}, "installation") or only or ""
    if not home:
        raise Undeliverable(
            "ambiguous_workspace",
            f"it goes to {channel}, and nothing says which workspace that is in; name both, as in"
            f" slack:T0123:{channel}, for what is to come",
        )
    return replace(delivery, target={**target, "installation": home, "channel": channel})
