"""What is said about a request in one line, for people on any surface. Pure.

A surface that can show people and policies better hands in its own words for them.
"""

from __future__ import annotations

from channels.protocol import Card
from gateway.engine.kinds import CancelReason, JsonObject

NOT_NEEDED = "This decision is no longer needed."

WHY: dict[CancelReason | None, str] = {
    "requested": "the turn was stopped",
    "replaced": "a newer message took its place",
    "reset": "the conversation was reset",
    None: "the turn ended before anybody decided",
}


def deciders(answerers: JsonObject) -> str:
    """Who may decide."""
    who = answerers.get("user") or answerers.get("policy")
    if not isinstance(who, str):
        return "anyone"
    named = who if "user" in answerers else f"the policy {who}"
    quorum = answerers.get("quorum", 1)
    counted = f"{quorum} of {named}" if quorum != 1 else named
    return f"{counted}, but not whoever asked" if answerers.get("not_requester") else counted


def standing(card: Card, who: str | None = None) -> str:
    """How a request stands. ``who`` decided, or may decide while it is open."""
    if card.outcome is None:
        votes = f"{len(card.votes)} of {card.quorum} so far; it " if card.quorum > 1 else "It "
        return f"{votes}waits for {who or deciders(card.answerers)} to decide."
    if card.outcome == "expired":
        return "Expired: nobody decided in time."
    if card.outcome == "cancelled":
        return f"No longer needed: {WHY[card.why_dropped]}."
    by = who or (card.decided.by if card.decided is not None else "") or "somebody"
    reason = card.decided.reason if card.decided is not None else None
    if card.outcome == "denied" and reason:
        return f"Denied by {by}: {reason}"
    return f"{card.outcome.capitalize()} by {by}{_came_to(card)}."


def _came_to(card: Card) -> str:
    match card.call:
        case "runs":
            return "; it runs now"
        case "failed" if card.outcome != "denied":
            return "; it was tried and failed"
        case "dropped":
            why = WHY[card.why_dropped] if card.why_dropped else "the turn ended first"
            return f"; it was not carried out: {why}"
        case _:
            return ""


def already(card: Card, who: str | None = None) -> str:
    """For somebody who decides on what isn't open any more."""
    if card.outcome is None or card.outcome == "cancelled":
        return NOT_NEEDED
    if card.outcome == "expired":
        return "This expired before you answered; nobody decided in time."
    by = who or (card.decided.by if card.decided is not None else "") or "somebody"
    return f"Already {card.outcome} by {by}."


def not_yours(who: str) -> str:
    return f"This one is for {who} to decide."
