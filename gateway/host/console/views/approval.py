"""One request as it stands, with what has become of it."""

from __future__ import annotations

from channels.protocol import Card
from gateway.approvals.reading import read_card
from gateway.approvals.words import already
from gateway.engine.errors import NotFoundError
from gateway.engine.kinds import JsonObject
from gateway.host.console.seen import Seen
from gateway.host.console.views.approvals import read_row

CALLS = {
    "waits": "The call waits for the decision.",
    "runs": "The call goes on now.",
    "done": "The call has ended.",
    "failed": "The call failed.",
    "dropped": "The call never ran.",
}


async def approval(seen: Seen) -> JsonObject:
    wanted = seen.request.match_info["id"]
    found = await seen.store.find_request(wanted) if wanted.isprintable() else None
    card = None if found is None else await read_card(seen.store, wanted)
    if found is None or card is None:
        raise NotFoundError(
            "there is no such request", fix="it may have been asked anew: look under Approvals"
        )
    row = await read_row(seen, found)
    return {
        **row,
        "call": CALLS[card.call],
        "said": said(card, seen.visitor.identity, seen.word("came")),
    }


def said(card: Card, me: str, came: str) -> JsonObject | None:
    """What somebody who has just pressed is told: read off the request as it stands, so that no address
    can claim what didn't happen."""
    if came not in {"pressed", "late"}:
        return None
    if card.outcome is None:
        if came == "late":
            return _note("wait", "Nothing was decided: the request has changed. Look at it again.")
        return None  # that a vote is kept stands on the card
    if card.decided is not None and card.decided.by == me:
        return _note("good", f"You {card.outcome} this.")
    return _note("wait", f"Somebody was first. {already(card)}")


def _note(tone: str, text: str) -> JsonObject:
    return {"tone": tone, "text": text}
