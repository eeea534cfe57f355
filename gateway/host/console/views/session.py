"""One conversation: what was said, and the steps of one of its turns."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.engine.decisions.opening import opening_from
from gateway.engine.errors import NotFoundError
from gateway.engine.kinds import OPEN_STATES, Json, JsonObject, SessionRef
from gateway.engine.messages import Attachment, Message, Reasoning
from gateway.engine.records import TurnRecord, TurnSummary
from gateway.engine.wire import loads, message_from
from gateway.engine.wire.events import event_from
from gateway.host.api import Api
from gateway.host.console.seen import PAGE, Seen
from gateway.host.console.views import links
from gateway.host.console.views.deliveries import row as delivery_row
from gateway.host.console.views.standing import SESSION, TURN
from gateway.host.console.views.timeline import timeline
from gateway.host.views import opening_text, speaker_name
from gateway.intake.envelope import unwrapped

EVENTS = 300
TURNS = 20


async def session(seen: Seen) -> JsonObject:
    ref = SessionRef(seen.word("agent", seen.api.agent), seen.word("key"))
    row = await seen.store.session(ref)
    if row is None:
        raise NotFoundError("there is no such session", fix="look under Sessions")
    turns = await seen.store.list_turns(ref=ref, limit=TURNS)
    chosen = await _chosen(seen, ref, turns)
    generation = row.generation if chosen is None else chosen.generation
    until = row.next_index if generation == row.generation else None
    since = (chosen.opening or 0) if chosen is not None else 0
    status = await seen.api.runtime.status(ref)
    shown: list[Json] = [seen.names.beside(turn_row(one)) for one in turns]
    return {
        "session_name": seen.names.of(ref.key),
        "agent": ref.agent,
        "session": ref.key,
        "status": status,
        **SESSION.row(status),
        "generation": generation,
        "archived": generation != row.generation,
        "created_at": row.created_at,
        "active_at": row.active_at,
        "taken_over": await seen.api.clerks.taken_over(ref.key),
        "handback": f"{links.conversation(ref.key)}/handback",
        "href": links.session(ref),
        "cursor": "" if chosen is None else f"{chosen.number}.{chosen.last_seq}",
        "turns": shown,
        **await _said(seen, ref, generation, until, since),
        "turn": None if chosen is None else await _turn(seen, ref, chosen),
    }


async def _chosen(seen: Seen, ref: SessionRef, turns: Sequence[TurnSummary]) -> TurnRecord | None:
    """The turn that was asked for, else the one whose move it is, else the latest."""
    if wanted := seen.word("turn"):
        found = await seen.store.turn(ref, wanted)
        if found is None:
            raise NotFoundError("this session has no such turn", fix="open the session without it")
        return found
    return current(turns)


def current(turns: Sequence[TurnSummary]) -> TurnRecord | None:
    """Of the latest turns, newest first: the first that is open, or the latest if none is."""
    waiting = [one.turn for one in turns if one.turn.state in OPEN_STATES]
    if waiting:
        return waiting[-1]
    return turns[0].turn if turns else None


def turn_row(found: TurnSummary) -> JsonObject:
    record = found.turn
    return {
        "turn_id": record.turn_id,
        "number": record.number,
        "state": record.state,
        **TURN.row(record.state),
        "opening": opening_text(found)[:200],
        "source": record.source,
        "speaker": record.speaker,
        "speaker_name": speaker_name(record),
        "queued_at": record.queued_at,
        "ended_at": record.ended_at,
        "href": links.session(found.ref, record.turn_id),
        "session": found.ref.key,
    }


# -- what was said ---------------------------------------------------------------------------------
async def _said(
    seen: Seen, ref: SessionRef, generation: int, until: int | None, since: int
) -> JsonObject:
    """A page of the transcript: the last messages before ``?before=`` or ``until``; without either,
    those from ``since`` on, as where an archived generation ends only its messages tell."""
    before = seen.number("before")
    end = until if before is None else before
    start = since if end is None else max(end - PAGE, 0)
    found = await seen.store.messages(ref, generation, start - 1, limit=PAGE)
    messages: list[Json] = [
        seen.names.beside(said(message_from(one)))
        for one in found
        if end is None or one.index < end
    ]
    return {"messages": messages, "older": start or None, "before": before}


def said(message: Message) -> JsonObject:
    calls: list[Json] = [{"name": call.name, "input": call.input} for call in message.calls]
    results: list[Json] = [
        {"name": one.name, "output": one.output, "is_error": one.is_error}
        for one in message.results
    ]
    files: list[Json] = [one.name for one in message.blocks if isinstance(one, Attachment)]
    thoughts = "".join(one.text for one in message.blocks if isinstance(one, Reasoning))
    return {
        "index": message.index,
        "role": message.role,
        "by": message.by,
        "turn_id": message.turn_id,
        "trust": message.trust,
        "text": unwrapped(message.text),
        "thoughts": thoughts,
        "calls": calls,
        "results": results,
        "files": files,
    }


# -- one turn --------------------------------------------------------------------------------------
async def steps_of(api: Api, ref: SessionRef, record: TurnRecord, latest: int) -> list[Json]:
    """The steps that its latest events tell of."""
    after = max(0, record.last_seq - latest)
    logged = await api.runtime.store.events(ref, record.row, after, limit=latest)
    agent = api.agents().get(ref.agent)
    return timeline(
        [event_from(one, ref, record.turn_id) for one in logged],
        {} if agent is None else agent.tools,
        api.names.shown,
        thinking=record.state == "running",
    )


async def _turn(seen: Seen, ref: SessionRef, record: TurnRecord) -> JsonObject:
    totals = await seen.store.usage_totals(record.row)
    deliveries = await seen.store.ledger.deliveries(turn_id=record.turn_id, limit=PAGE)
    shown: list[Json] = [
        delivery_row(one, seen.names) for one in deliveries if one.session == ref.key
    ]
    told: JsonObject = {
        "turn_id": record.turn_id,
        "number": record.number,
        "state": record.state,
        **TURN.row(record.state),
        "source": record.source,
        "speaker": record.speaker,
        "speaker_name": speaker_name(record),
        "by": opening_from(record.body).by,
        "queued_at": record.queued_at,
        "started_at": record.started_at,
        "ended_at": record.ended_at,
        "attempts": record.attempts,
        "crashes": record.crashes + record.suspect,
        "error": None if record.error is None else loads(record.error),
        "request": record.request if record.state == "suspended" else None,
        "open": record.state in OPEN_STATES,
        "last_seq": record.last_seq,
        "earlier": max(0, record.last_seq - EVENTS),
        "usage": totals,
        "steps": await steps_of(seen.api, ref, record, EVENTS),
        "deliveries": shown,
    }
    return seen.names.beside(told)
