"""Cards to look at."""

from __future__ import annotations

from typing import Any

from channels.protocol import Card, Decider
from channels.slack.emulator.blocks.render import block_words
from channels.slack.emulator.blocks.text import in_blocks, links
from channels.slack.emulator.blocks.validate import check, check_view
from channels.slack.settings import read_options
from gateway.engine.kinds import Json, JsonObject, Millis

NOW = Millis(1_700_000_000_000)
OPTIONS = read_options(policy_words={"refunds": "@support-leads"})
REQUEST = "req_AAAAAAAAAAAAAAAA"
ADA, BOB = "slack:T1:U1", "slack:T1:U2"

HOSTILE = (
    "<!channel> <@U1> <!subteam^S1> &lt;!here&gt; @here *bold* <https://evil.example|bank.example>"
    " \u202eevil\u2066 `<!here>` https://evil.example :tada: \u200b"
)


def card(**fields: Any) -> Card:
    made: dict[str, Any] = {
        "request": REQUEST,
        "turn_id": "t1",
        "name": "approve",
        "tool": "refund",
        "prompt": "Refund $42.50 on order 1042, card ending 4242",
        "arguments": {"order": "1042", "amount": "42.50"},
        "schema": {"type": "boolean"},
        "answerers": {"policy": "refunds"},
        "digest": "0123456789abcdef" * 4,
        "quorum": 1,
        "votes": (),
        "created_at": NOW,
        "expires_at": None,
        "outcome": None,
        "decided": None,
        "call": "waits",
    }
    return Card(**{**made, **fields})


def by(who: str, value: Json = True, reason: str | None = None) -> Decider:
    return Decider(by=who, value=value, reason=reason, at=NOW)


def read(blocks: list[JsonObject]) -> str:
    """What a person reads."""
    return "\n".join(words for block in blocks if (words := block_words(block)))


def pings(blocks: list[JsonObject]) -> list[tuple[str, str]]:
    return [(kind, name) for kind, name in in_blocks(blocks)]


def fits(blocks: list[JsonObject]) -> None:
    assert check(blocks, "message") == []


def view_fits(view: JsonObject) -> None:
    assert check_view(view) == []
    blocks = view["blocks"]
    assert isinstance(blocks, list)
    assert links("", blocks) == []
    assert list(in_blocks(blocks)) == []
