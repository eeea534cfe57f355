"""Slack, as it comes."""

from __future__ import annotations

from collections.abc import Mapping

from channels.protocol import Channel
from channels.slack import slack_channel


def channel(env: Mapping[str, str]) -> Channel:
    return slack_channel(env)
