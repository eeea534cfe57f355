"""Beside a thread: the turns that the gateway runs for it, and how it judged what Slack sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from channels.slack.parsing import keys
from gateway.engine.kinds import Json, JsonObject, SessionRef
from gateway.engine.ledger import Asked
from gateway.host.api import Api
from gateway.host.console.views.session import steps_of, turn_row
from gateway.outbox.listing import verdict_json
from gateway.playground.screen import Place

TURNS = 3
EVENTS = 120
VERDICTS = 40
ECHO = "own_echo"
"""How our own posts are judged, of which Slack tells, too. There are many."""
JUDGED = {
    "accepted": "let in",
    "duplicate": "known already",
    "not_addressed": "not said to the agent",
    "other_bot": "from another bot",
    "loop": "two bots went round in circles",
    "automated_mail": "from a machine",
    "policy": "not allowed",
    "queued": "waits its turn",
    "held": "kept for later",
    "unsupported": "not understood",
}
"""What became of an event, for somebody who doesn't know our words for it."""


def judged(verdict: str) -> str:
    return JUDGED.get(verdict, verdict.replace("_", " "))


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    row: dict[str, Json]
    steps: Sequence[Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """The latest turns, the newest first, and the latest verdicts likewise."""

    turns: Sequence[Turn] = ()
    verdicts: Sequence[JsonObject] = ()


async def beside(api: Api, place: Place) -> Beside:
    if place.root is None:
        return Beside()
    store = api.runtime.store
    thread = keys.place(place.office.june.key, place.channel.id, place.root)
    # A reply under a digest belongs to the digest's session.
    known = await store.ledger.known(Asked(source="slack", event_id="", places=(thread.key,)))
    bound = known.bindings[0] if known.bindings else None
    agent = api.agent if bound is None else bound.agent
    ref = SessionRef(agent, thread.session if bound is None else bound.session)
    found = await store.list_turns(ref=ref, limit=TURNS)
    heard = await store.ledger.verdicts(source="slack", place=thread.key, limit=VERDICTS)
    return Beside(
        turns=[
            Turn(
                row=api.names.beside(turn_row(one)),
                steps=await steps_of(api, ref, one.turn, EVENTS),
            )
            for one in found
        ],
        verdicts=[api.names.beside(verdict_json(one)) for one in heard if one.verdict != ECHO],
    )
