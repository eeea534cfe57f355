"""What is shown where, and what doesn't get through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from gateway.engine.kinds import JsonObject, SessionRef
from gateway.engine.ledger import Delivery, DeliveryState
from gateway.host.console.seen import Seen
from gateway.host.console.views import links
from gateway.host.console.views.standing import DELIVERY
from gateway.host.words.names import Names
from gateway.outbox.listing import delivery_json, find_delivery

SHOWS = ("all", "dead", "due", "sending", "resting", "done", "silent")
REASONS = {
    "later": "The channel asked for time",
    "failed": "The channel or the network failed",
    "unsettled": "The gateway couldn't finish it",
    "unknown": "Nobody can say whether it was sent",
    "bounced": "It came back",
    "refused": "The receiving side refuses it",
    "taken_over": "A colleague speaks in the conversation",
    "cant_tell": "Nobody can say whether it arrived",
    "unwritable": "No letter can be made of it",
    "forgotten": "It was forgotten before it could be sent again",
    "no_place": "It doesn't say where to",
    "sealed": "The letter can't be opened with the keys that are set",
}


async def deliveries(seen: Seen) -> JsonObject:
    async def fetch(state: str | None, limit: int) -> Sequence[Delivery]:
        wanted = cast("DeliveryState | None", state)
        return await seen.store.ledger.deliveries(state=wanted, limit=limit)

    return await seen.listed("deliveries", SHOWS, fetch, lambda one: row(one, seen.names))


async def delivery(seen: Seen) -> JsonObject:
    number = links.number(seen.request.match_info["delivery"])
    return row(await find_delivery(seen.store.ledger, number), seen.names)


def row(found: Delivery, names: Names) -> JsonObject:
    told: JsonObject = {
        **delivery_json(found),
        **DELIVERY.row(found.state),
        "what": "a card" if found.request is not None else "the answer",
        "reason": reason(found),
        "waits": found.state == "due" and found.attempts > 0,
        "href": links.delivery(found.id),
        "session_href": links.session(SessionRef(found.agent, found.session), found.turn_id),
    }
    told = names.beside(told)
    told["place"] = place(found.target)
    return told


def place(target: JsonObject) -> str:
    """Where it is shown, in words: the parts that a person would look for."""
    channel, thread = target.get("channel"), target.get("thread_ts")
    if not isinstance(channel, str) or not channel:
        return str(target.get("address") or "") if target.get("source") == "email" else ""
    # Slack's ids of direct conversations begin with a D; nobody knows one by a #.
    told = f"direct messages {channel}" if channel.startswith("D") else f"#{channel}"
    return f"{told}, thread {thread}" if thread else told


def reason(found: Delivery) -> str:
    """Why it isn't through, in plain words, with what the platform said."""
    if found.error is None:
        return ""
    word, colon, detail = found.error.partition(": ")
    told = REASONS.get(word)
    return f"{told}: {detail}" if told and colon else found.error
