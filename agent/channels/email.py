"""June at the shop's support address."""

from __future__ import annotations

from collections.abc import Mapping

from channels.email import email_channel
from channels.protocol import Channel


def channel(env: Mapping[str, str]) -> Channel:
    return email_channel(
        env,
        name="June at the shop",
        signature="June, support",
        # Whoever of us answers a customer takes the conversation over.
        colleagues=["shop.example"],
    )
