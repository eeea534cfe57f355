"""How a request stands, in the looks that a card has: open, with votes, decided and running, done, failed,
denied, expired, no longer needed.
"""

from __future__ import annotations

from collections.abc import Iterable

from channels.protocol import Card
from channels.slack.cards import words
from channels.slack.cards.arguments import MOST_ASKED, MOST_TEXT, exact, more, preformatted
from channels.slack.cards.schemas import label
from channels.slack.settings import SlackOptions
from gateway.engine.kinds import CancelReason, JsonObject

WHY: dict[CancelReason | None, str] = {
    "requested": "the turn was stopped",
    "replaced": "a newer message took its place",
    "reset": "the conversation was reset",
    None: "the turn ended first",
}


def is_open(card: Card) -> bool:
    return card.outcome is None


def is_over(card: Card) -> bool:
    """Nothing about it is going to change any more."""
    return not is_open(card) and card.call not in {"waits", "runs"}


def facts(card: Card, options: SlackOptions, installation: str) -> list[JsonObject]:
    """What it is about, below the arguments: the tool, the digest, who may decide, and until when."""
    found = [words.text(card.tool, "code"), words.text(f" · {card.digest[:12]}")]
    if not is_open(card):
        return found
    found += [words.text(" · for "), *words.may_decide(card.answerers, options, installation)]
    found.append(words.text(" to decide"))
    if card.expires_at is not None:
        found += [words.text(" · until "), words.moment(card.expires_at)]
    return found


def asked(card: Card) -> list[JsonObject]:
    """Who asked for it, how well they are known, and their words as a quotation."""
    told = card.asked
    if told is None:
        return []
    head = [
        words.text("Asked for", "bold"),
        words.text(f" by {told.source} from "),
        words.text(told.speaker.partition(":")[2] or told.speaker, "code"),
        words.text(f" · {told.known}"),
        *(words.text(f" {why}") for why in told.reasons),
        *([words.text(f" {told.since}", "bold")] if told.since else []),
    ]
    quoted = [words.text(told.words[:MOST_ASKED])]
    found: list[JsonObject] = [
        words.section(head),
        {"type": "rich_text_quote", "elements": [*quoted]},
    ]
    hidden = len(told.words) - MOST_ASKED
    return [*found, more(hidden + told.hidden)] if hidden + told.hidden > 0 else found


def standing(card: Card, installation: str) -> list[JsonObject]:
    """Elements that say how it stands: who, when, and what came of it."""
    match card.outcome:
        case None:
            return _votes(card, installation)
        case "expired":
            return [
                words.section(
                    [
                        words.text("Expired", "bold"),
                        *_when(card, " · "),
                        words.text(" · nobody decided in time"),
                    ]
                )
            ]
        case "cancelled":
            why = words.text(f" · {WHY[card.why_dropped]}")
            return [
                words.section([words.text("No longer needed", "bold"), *_when(card, " · "), why])
            ]
        case _:
            return _decision(card, installation)


def _votes(card: Card, installation: str) -> list[JsonObject]:
    if card.quorum <= 1:
        return []
    found = [words.text(f"{len(card.votes)} of {card.quorum}", "bold")]
    if card.votes:
        who = words.people((vote.by for vote in card.votes), installation)
        found += [words.text(f" · {_agreed(card)} "), *who]
    return [words.section(found)]


def _agreed(card: Card) -> str:
    if any(vote.value is not True for vote in card.votes):
        return f"{label(card.votes[0].value)[0]} by"
    return "approved by"


def _decision(card: Card, installation: str) -> list[JsonObject]:
    decided = card.decided
    said = (card.outcome or "decided").capitalize()
    by = [] if decided is None else [decided.by]
    if card.quorum > 1 and card.outcome != "denied":
        by = [*(vote.by for vote in card.votes), *by]
    known = list(_once(by))
    head = [words.text(said, "bold")]
    if known:
        head += [words.text(" by "), *words.people(known, installation)]
    head += [*_when(card, " · "), *_came_to(card)]
    return [words.section(head), *_given(card)]


def _once(identities: Iterable[str]) -> Iterable[str]:
    """Each person once: what was vouched for is the same person."""
    seen: set[str] = set()
    for one in identities:
        identity = one.partition(words.VOUCHED)[0]
        if identity and identity not in seen:
            seen.add(identity)
            yield one


def _when(card: Card, before: str) -> list[JsonObject]:
    return [] if card.decided is None else [words.text(before), words.moment(card.decided.at)]


def _came_to(card: Card) -> list[JsonObject]:
    match card.call:
        case "runs" if card.outcome != "denied":
            return [words.text(" · running")]
        case "done" if card.outcome != "denied":
            return [words.text(" · done")]
        case "failed" if card.outcome != "denied":
            return [words.text(" · "), words.text("failed", "bold")]
        case "dropped":
            return [words.text(f" · not carried out: {WHY[card.why_dropped]}")]
        case _:
            return []


def _given(card: Card) -> list[JsonObject]:
    """What was answered, and the reason, as whoever decided wrote it."""
    found: list[JsonObject] = []
    if card.decided is None:
        return found
    if card.outcome == "answered":
        value = card.decided.value
        said = value if isinstance(value, str) else exact(value)
        found.append(preformatted(said[:MOST_TEXT]))
        if len(said) > MOST_TEXT:
            found.append(more(len(said) - MOST_TEXT))
    if card.decided.reason:
        quoted = [words.text(card.decided.reason[:MOST_TEXT])]
        found.append({"type": "rich_text_quote", "elements": [*quoted]})
    return found


# -- in one line ---------------------------------------------------------------------------------------------
def line(card: Card) -> str:
    """For notifications, and for clients that show no blocks."""
    match card.outcome:
        case None:
            return "Waits for a decision."
        case "expired":
            return "Expired: nobody decided in time."
        case "cancelled":
            return f"No longer needed: {WHY[card.why_dropped]}."
        case outcome:
            return f"{outcome.capitalize()}."
