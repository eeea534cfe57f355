"""What a request is about beside its arguments, for the letter and for the page. Pure."""

from __future__ import annotations

from channels.email.deciding.spelling import moment
from channels.email.writing.clean import one_line
from channels.protocol import Card, TurnView

__all__ = ["facts", "who_asked"]

MOST_WHO = 1_000


def facts(card: Card, who: str) -> list[tuple[str, str]]:
    """What a request is about beside its arguments, each on one line."""
    policy, quorum = card.answerers.get("policy"), card.quorum
    decides = f"the policy {policy}" if isinstance(policy, str) else "one person"
    told = [
        ("Tool", card.tool),
        ("Digest", card.digest),
        ("Asked by", who),
        ("Decides", f"{quorum} of {decides}" if quorum > 1 else decides),
        ("Since", moment(card.created_at)),
        ("Until", "no deadline" if card.expires_at is None else moment(card.expires_at)),
        ("Request", card.request),
    ]
    return [(name, one_line(value)) for name, value in told]


def who_asked(card: Card, view: TurnView) -> str:
    """Who asked, by which channel, and how well they are known."""
    if (asked := card.asked) is not None:
        address = asked.speaker.partition(":")[2] or asked.speaker
        said = [f"{address}, by {asked.source}.", asked.since, asked.known, *asked.reasons]
        told = " ".join(filter(None, said))
    elif (speaker := view.speaker) is not None:
        told = f"{speaker.name} ({speaker.id})" if speaker.name else speaker.id
    else:
        told = "a program or a schedule, and no person"
    return one_line(told)[:MOST_WHO]
