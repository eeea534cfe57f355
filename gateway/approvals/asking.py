"""Who asked for what a request is about, and in which words: for deciders who weren't there.

A channel whose speakers are known better or worse says so in the turn's event, as ``attestation``: an object
with ``reasons``, pairs of a stable word and a sentence. Where a colleague may take a conversation over, the event
has as ``standing`` kind and key of a document that says in ``taken_over`` who did.
"""

from __future__ import annotations

from channels.protocol import Asked
from gateway.engine.decisions.opening import opening_from
from gateway.engine.kinds import Json, JsonObject, Level, SessionRef, Speaker
from gateway.engine.messages import Text
from gateway.engine.ports import SessionStore
from gateway.engine.records import TurnRecord
from gateway.engine.wire import message_from
from gateway.intake.envelope import unwrapped

__all__ = ["read_asked"]

MOST_WORDS = 2_000
MOST_NAME = 80
MOST_REASONS = 8
KNOWN: dict[Level, str] = {
    "none": "Nobody vouches for it that {0} wrote this.",
    "domain": "{1} vouches for the message, and not for the person who wrote it.",
    "sender": "{1} vouches for the person who wrote this.",
    "provider": "The platform knows who wrote this.",
    "linked": "Who wrote this has linked this identity to theirs.",
}


TAKEN_OVER = (
    "{0} has taken the conversation over since: a decision still counts, and what the agent writes about it"
    " isn't sent before it is handed back."
)


async def read_asked(store: SessionStore, ref: SessionRef, turn: TurnRecord) -> Asked | None:
    """``None`` where the turn's channel doesn't say how well it knows who speaks."""
    opening = opening_from(turn.body, turn.content)
    told = None if opening.event is None else opening.event.get("attestation")
    if opening.speaker is None or not isinstance(told, dict):
        return None
    since = await _since(store, opening.event)
    if turn.opening is None:
        said = "".join(block.text for block in opening.blocks if isinstance(block, Text))
    else:
        rows = await store.messages(ref, turn.generation, turn.opening - 1, limit=1)
        said = message_from(rows[0]).text if rows else ""
    return asked(opening.source, opening.speaker, told, unwrapped(said).strip(), since)


async def _since(store: SessionStore, event: JsonObject | None) -> str:
    match (event or {}).get("standing"):
        case [str(kind), str(key)]:
            row = await store.ledger.document(kind, key)
            by = "" if row is None else str(row.body.get("taken_over") or "")
            return TAKEN_OVER.format(by.partition(":")[2]) if by else ""
        case _:
            return ""


def asked(source: str, speaker: Speaker, told: JsonObject, words: str, since: str = "") -> Asked:
    _, _, address = speaker.id.partition(":")
    return Asked(
        source=source,
        speaker=speaker.id,
        name=speaker.name[:MOST_NAME],
        level=speaker.level,
        known=KNOWN[speaker.level].format(address or speaker.id, speaker.tenant or "Its domain"),
        reasons=tuple(_reasons(told.get("reasons"))),
        words=words[:MOST_WORDS],
        hidden=max(len(words) - MOST_WORDS, 0),
        since=since,
    )


def _reasons(given: Json) -> list[str]:
    listed = given if isinstance(given, list) else []
    found = [str(one[1]) for one in listed if isinstance(one, list) and len(one) > 1]
    return found[:MOST_REASONS]
