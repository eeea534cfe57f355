"""A strict fake of the Anthropic API, on a real socket and scripted by the caller.

It refuses what the API refuses (a call without its result, thinking moved to another conversation,
a parameter the model doesn't take), and it fails in every way a stream can fail. Nothing that costs
money and nothing that needs a key: tests, a demo, ``gateway fakes start model``.
"""

from __future__ import annotations

from gateway.testing.fake_anthropic.canned import canned
from gateway.testing.fake_anthropic.server import Exchange, FakeAnthropic, serve
from gateway.testing.fake_anthropic.spec import (
    Answer,
    Block,
    Call,
    Cut,
    Refusal,
    Reply,
    Say,
    Script,
    Stall,
    Think,
    event,
    overloaded,
    ping,
    rate_limited,
    say,
    stream_error,
)

__all__ = [
    "Answer",
    "Block",
    "Call",
    "Cut",
    "Exchange",
    "FakeAnthropic",
    "Refusal",
    "Reply",
    "Say",
    "Script",
    "Stall",
    "Think",
    "canned",
    "event",
    "overloaded",
    "ping",
    "rate_limited",
    "say",
    "serve",
    "stream_error",
]
