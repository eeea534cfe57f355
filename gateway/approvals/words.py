"""What is said, on any surface, to somebody whose decision isn't taken. Pure."""

from __future__ import annotations

from channels.protocol import Card

NOT_NEEDED = "This decision is no longer needed."
NOT_HERE = "I can't take a decision from this message. Nothing was done."
"""For a message that isn't known to show the request: whether that is still open, it doesn't tell."""


def already(card: Card) -> str:
    """For somebody who decides on what isn't open any more."""
    if card.outcome is None or card.outcome == "cancelled":
        return NOT_NEEDED
    if card.outcome == "expired":
        return "This expired before you answered; nobody decided in time."
    by = (card.decided.by if card.decided is not None else "") or "somebody"
    return f"Already {card.outcome} by {by}."


def not_yours(who: str) -> str:
    return f"This one is for {who} to decide."


def voted(votes: int, quorum: int) -> str:
    """For somebody whose vote is kept already, while others' are missing."""
    return f"Your vote is kept: {votes} of {quorum}. Somebody else has to decide as well."
