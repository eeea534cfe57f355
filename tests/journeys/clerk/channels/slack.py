"""Slack with the options that a test asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from channels.protocol import Channel
from channels.slack import slack_channel
from channels.slack.policy import ReplaceInFlight


def channel(env: Mapping[str, str]) -> Channel:
    replace = cast("ReplaceInFlight", env.get("REPLACE") or False)
    return slack_channel(env, replace_in_flight=replace)
