"""The row that every event ends with. Pure.

It holds ids, never a word of what was written; ``said`` is our own sentence.
"""

from __future__ import annotations

from channels.contract import Answer, Control, Ignored, Inbound, Parsed, Word
from gateway.engine.kinds import Millis, TurnRow
from gateway.engine.records import VerdictMade
from gateway.engine.struct import struct


@struct(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A word and the rule behind it. ``turn`` is the one it concerns, where there is one. ``by_hand``: what
    is held waits for an operator, and nothing else lets it in."""

    word: Word
    rule: str
    turn: TurnRow | None = None
    said: str | None = None
    by_hand: bool = False


def verdict(
    source: str, parsed: Parsed, made: Judgement, at: Millis, *, revises: bool = False
) -> VerdictMade:
    place, speaker = _where_and_who(parsed)
    return VerdictMade(
        source=source,
        event_id=parsed.event_id,
        verdict=made.word,
        rule=made.rule,
        place=place,
        speaker=speaker,
        turn=made.turn,
        said=made.said,
        at=at,
        revises=revises,
    )


def _where_and_who(parsed: Parsed) -> tuple[str | None, str | None]:
    match parsed:
        case Inbound():
            return parsed.place.key, parsed.speaker.id
        case Answer():
            return parsed.shown or None, parsed.by.id
        case Control():
            place = parsed.post if parsed.place is None else parsed.place.key
            return place, None if parsed.by is None else parsed.by.id
        case Ignored():
            return parsed.place, parsed.speaker
