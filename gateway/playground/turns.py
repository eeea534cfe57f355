"""Beside a thread: the turns that the gateway runs for it, and how it judged what Slack sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from channels.slack.parsing import keys
from gateway.engine.kinds import Json, SessionRef
from gateway.engine.ledger import Asked, VerdictRow
from gateway.engine.records import TurnSummary
from gateway.engine.wire.events import event_from
from gateway.host.api import Api
from gateway.host.console.views import links
from gateway.host.console.views.session import turn_row
from gateway.host.console.views.timeline import timeline
from gateway.playground.screen import Place

TURNS = 3
EVENTS = 120
VERDICTS = 40
ECHO = "own_echo"
"""How our own posts are judged, of which Slack tells, too. There are many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    row: dict[str, Json]
    link: str
    steps: Sequence[Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """The latest turns, the newest first, and the latest verdicts likewise."""

    turns: Sequence[Turn] = ()
    verdicts: Sequence[VerdictRow] = ()


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
        turns=[await _turn(api, turn) for turn in found],
        verdicts=[one for one in heard if one.verdict != ECHO],
    )


async def _turn(api: Api, found: TurnSummary) -> Turn:
    record = found.turn
    after = max(0, record.last_seq - EVENTS)
    logged = await api.runtime.store.events(found.ref, record.row, after, limit=EVENTS)
    agent = api.agents().get(found.ref.agent)
    return Turn(
        row=turn_row(found),
        link=links.session(found.ref, record.turn_id),
        steps=timeline(
            [event_from(one, found.ref, record.turn_id) for one in logged],
            {} if agent is None else agent.tools,
            thinking=record.state == "running",
        ),
    )
