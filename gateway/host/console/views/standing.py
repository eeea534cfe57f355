"""How things stand, as a page shows it: a tone for the badge, and a word. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gateway.engine.kinds import JsonObject


@dataclass(frozen=True, slots=True)
class Standing:
    """What has no tone is off; what has no word is its own."""

    tones: Mapping[str, str]
    words: Mapping[str, str]

    def of(self, state: str) -> tuple[str, str]:
        return self.tones.get(state, "off"), self.words.get(state, state)

    def row(self, state: str) -> JsonObject:
        tone, word = self.of(state)
        return {"tone": tone, "word": word}


SESSION = Standing(
    tones={"running": "busy", "suspended": "wait", "resetting": "busy"},
    words={"suspended": "waits for a decision", "new": "empty"},
)
TURN = Standing(
    tones={
        "completed": "good",
        "suspended": "wait",
        "running": "busy",
        "queued": "busy",
        "failed": "bad",
        "timed_out": "bad",
    },
    words={"suspended": "waits for a decision", "timed_out": "timed out"},
)
MAIL = Standing(
    tones={"accepted": "good", "queued": "busy", "held": "wait", "policy": "bad", "loop": "bad"},
    words={
        "held": "held for an operator",
        "accepted": "let in",
        "queued": "let in, and waits",
        "automated_mail": "automated",
        "not_addressed": "not for the agent",
        "own_echo": "our own",
        "loop": "a loop",
    },
)
DELIVERY = Standing(
    tones={"due": "busy", "sending": "busy", "resting": "good", "done": "good", "dead": "bad"},
    words={
        "due": "to be sent",
        "sending": "being sent",
        "resting": "shown so far",
        "done": "delivered",
        "dead": "given up",
        "silent": "nothing to show",
    },
)
