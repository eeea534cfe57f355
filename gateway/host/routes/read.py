"""Looking: transcripts, turns, their events, and the lists that operators work from."""

from __future__ import annotations

from aiohttp import web

from gateway.approvals.reading import read_ballot
from gateway.engine.errors import NotFoundError
from gateway.engine.kinds import OPEN_STATES, Json, SessionRef
from gateway.engine.session import Session
from gateway.engine.wire import message_json
from gateway.engine.wire.events import event_from, event_json
from gateway.host.api import archived
from gateway.host.problems import BadRequestError, CursorAheadError, json_response
from gateway.host.routes.given import limit
from gateway.host.stream import at_the_end, stream
from gateway.host.table import Call
from gateway.host.views import (
    agent_json,
    approval_json,
    audit_json,
    session_json,
    snapshot_json,
    turn_json,
)


async def transcript(call: Call) -> web.StreamResponse:
    key, generation = archived(call.path["history"])
    session = call.api.session(call.path["agent"], key)
    if await call.api.runtime.store.session(session.ref) is None:
        raise NotFoundError(f"no session {key!r}", fix="list them: GET /sessions")
    messages = await session.transcript(generation=generation)
    return json_response({"messages": [message_json(message) for message in messages]})


async def turn(call: Call) -> web.StreamResponse:
    session, turn_id = _turn(call)
    return json_response(snapshot_json(await session.snapshot(turn_id), session.ref.key))


def _turn(call: Call) -> tuple[Session, str]:
    return call.api.session(call.path["agent"], call.path["session"]), call.path["turn_id"]


async def events(call: Call) -> web.StreamResponse:
    """A turn's events after a cursor: what was missed, then what happens."""
    session, turn_id = _turn(call)
    after = _cursor(call)
    snapshot = await session.snapshot(turn_id)
    if after > snapshot.last_seq:
        raise CursorAheadError(
            f"the cursor {after} is beyond the last event, {snapshot.last_seq}",
            fix="read the turn's snapshot and go on from its last_seq",
        )
    if call.accepts("application/json"):
        return await _logged(call, session, turn_id, after)
    if after == snapshot.last_seq and snapshot.state not in OPEN_STATES:
        # 204 is what tells a browser's EventSource not to come back.
        return web.Response(status=204, headers={"Cache-Control": "no-store"})
    headers = {**call.headers, "Turn-Id": turn_id}
    source = session.observe(turn_id, after=after)
    return await stream(call.api, call.request, source, at_the_end, headers)


def _cursor(call: Call) -> int:
    """A browser that comes back sends the header beside the query of its first visit."""
    given = call.request.headers.get("Last-Event-ID", call.query.get("after", "0"))
    if not (given.isascii() and given.isdigit() and len(given) <= 18):
        raise BadRequestError(
            "the cursor must be the id of an event: a whole number",
            fix="send the last id you saw as Last-Event-ID or ?after=, or none at all",
        )
    return int(given)


async def _logged(call: Call, session: Session, turn_id: str, after: int) -> web.StreamResponse:
    """The durable events so far, for who wants no stream."""
    store, ref = call.api.runtime.store, session.ref
    record = await store.turn(ref, turn_id)
    told: list[Json] = []
    while record is not None and (page := await store.events(ref, record.row, after)):
        events = (event_json(event_from(row, ref, turn_id)) for row in page)
        told += [call.api.names.beside(one, ("by",)) for one in events]
        after = page[-1].event.seq
    return json_response({"events": told})


# -- lists -----------------------------------------------------------------------------------------
async def sessions(call: Call) -> web.StreamResponse:
    found = await call.api.runtime.store.list_sessions(
        agent=call.query.get("agent"), status=call.query.get("status"), limit=limit(call)
    )
    return json_response({"sessions": [call.api.names.beside(session_json(one)) for one in found]})


async def turns(call: Call) -> web.StreamResponse:
    agent, session = call.query.get("agent"), call.query.get("session")
    if session is not None and agent is None:
        agent = call.api.agent
    ref = None if session is None or agent is None else SessionRef(agent, session)
    found = await call.api.runtime.store.list_turns(
        ref=ref, state=call.query.get("state"), limit=limit(call)
    )
    rows: list[Json] = [
        call.api.names.beside(turn_json(one)) for one in found if agent in {None, one.ref.agent}
    ]
    return json_response({"turns": rows})


async def approvals(call: Call) -> web.StreamResponse:
    store = call.api.runtime.store
    found = await store.list_requests(limit=limit(call))
    names = call.api.names
    rows: list[Json] = [
        names.beside(approval_json(one, await read_ballot(store, one))) for one in found
    ]
    return json_response({"approvals": rows})


async def audit(call: Call) -> web.StreamResponse:
    before = call.query.get("before")
    found = await call.api.runtime.store.list_audit(
        agent=call.query.get("agent"),
        session=call.query.get("session"),
        turn_id=call.query.get("turn"),
        before=None if before is None else int(before),
        limit=limit(call),
    )
    return json_response({"audit": [audit_json(one) for one in found]})


async def agents(call: Call) -> web.StreamResponse:
    return json_response({"agents": [agent_json(one) for one in call.api.agents().values()]})
