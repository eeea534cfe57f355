"""The inbox of the rules."""

from __future__ import annotations

from collections.abc import Mapping

from channels.email import email_channel
from channels.protocol import Channel


def channel(env: Mapping[str, str]) -> Channel:
    return email_channel(env, name="June")
