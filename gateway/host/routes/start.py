"""Opening turns and ending them: ``/message``, ``…/turn``, ``…/cancel``, ``…/reset``."""

from __future__ import annotations

import secrets
from typing import cast

from aiohttp import web

from gateway.engine.decisions.keys import new_turn_id
from gateway.engine.kinds import OPEN_STATES, Json, JsonObject, Level, Speaker
from gateway.engine.outcomes import Started, TurnInput, TurnResult
from gateway.engine.ports import Subscription
from gateway.engine.session import Session
from gateway.host.auth import ForbiddenError, vouch
from gateway.host.channels.delivering import delivered_by, with_delivery
from gateway.host.problems import json_response
from gateway.host.stream import at_rest, stream
from gateway.host.table import Call
from gateway.host.views import outcome_json, reset_json
from gateway.values import ApiToken

SSE = "text/event-stream"
STATUS = {"completed": 200, "suspended": 202, "failed": 502, "cancelled": 409, "timed_out": 504}
"""What became of a turn → the status that a caller who waited for it gets."""


async def message(call: Call) -> web.StreamResponse:
    """Chat: wait for the answer, or follow the turn's events."""
    key = call.text("session") or f"s_{secrets.token_hex(16)}"
    session = call.api.own_session(call.api.agent, key)
    if call.accepts(SSE):
        return await _start_and_follow(call, session)
    started = await _start(call, session, call.text("turn_id"))
    return outcome(call, session, await session.result(started.turn_id))


async def turn(call: Call) -> web.StreamResponse:
    """Start a turn and follow it until it rests; or just start it."""
    session = call.api.own_session(call.path["agent"], call.path["session"])
    if not call.flag("detach") and not call.flag("deliver"):
        return await _start_and_follow(call, session)
    started = await _start(call, session, call.text("turn_id"))
    return accepted(call, session, started.turn_id)


def accepted(call: Call, session: Session, turn_id: str) -> web.Response:
    """It is committed, and what comes of it is told elsewhere."""
    call.headers["Turn-Id"] = turn_id
    return json_response({"turn_id": turn_id, "session": session.ref.key}, 202, call.headers)


async def _start_and_follow(call: Call, session: Session) -> web.StreamResponse:
    turn_id = call.text("turn_id") or new_turn_id()
    async with session.listen(turn_id) as live:
        started = await _start(call, session, turn_id)
        heard = live if started.created else None
        return await follow(call, session, turn_id, live=heard)


async def _start(call: Call, session: Session, turn_id: str | None) -> Started:
    call.api.take_turns()
    opening = TurnInput(
        message=str(call.body["message"]),
        turn_id=turn_id,
        speaker=_speaker(call.token, call.body.get("speaker")),
        target=cast("JsonObject | None", call.body.get("target")),
        # As without a host: the same message under the same id is the same turn either way.
        source="cli" if call.token.proves else "api",
    )
    if call.flag("deliver"):
        call.api.registry.check_delivers(delivered_by(opening))
        opening = with_delivery(opening, call.api.runtime.clock.now())
    started = await session.start(opening, replace=call.flag("replace"))
    # From here on the turn is committed, and whatever else goes wrong, its id is told.
    call.headers["Turn-Id"] = started.turn_id
    return started


def _speaker(token: ApiToken, given: Json) -> Speaker | None:
    """Who speaks, if the token's holder may vouch for them."""
    if given is None:
        return None
    told: JsonObject = given if isinstance(given, dict) else {"id": given}
    identity = str(told["id"])
    vouch(token, identity)
    return Speaker(
        id=identity,
        name=str(told.get("name", "")),
        tenant=str(told.get("tenant", "")),
        level=cast("Level", told.get("level", "provider")),
    )


async def follow(
    call: Call, session: Session, turn_id: str, *, after: int = 0, live: Subscription | None = None
) -> web.StreamResponse:
    events = session.observe(turn_id, after=after, live=live)
    return await stream(
        call.api,
        call.request,
        events,
        at_rest(session, turn_id),
        {**call.headers, "Turn-Id": turn_id},
    )


def outcome(call: Call, session: Session, result: TurnResult) -> web.Response:
    """Where the turn stands now that it rests. A turn that failed is an outcome, not an error."""
    body = outcome_json(result, session.ref.key)
    return json_response(body, STATUS[result.status], call.headers)


# -- ending ----------------------------------------------------------------------------------------
async def cancel(call: Call) -> web.StreamResponse:
    session = _to_end(call)
    turn_id = call.path["turn_id"]
    await session.cancel(turn_id)
    state = (await session.snapshot(turn_id)).state
    # One that runs is asked, and obeys at its next boundary.
    status = 202 if state in OPEN_STATES else 200
    return json_response({"turn_id": turn_id, "session": session.ref.key, "state": state}, status)


async def reset(call: Call) -> web.StreamResponse:
    return json_response(reset_json(await _to_end(call).reset()))


def _to_end(call: Call) -> Session:
    """A session whose turns the caller may end: a channel's only with the right ``admin``, for a
    chat client has no business there."""
    agent, key = call.path["agent"], call.path["session"]
    if call.token.may("admin"):
        return call.api.session(agent, key)
    if key.partition(":")[0] in call.api.channels:
        raise ForbiddenError(
            "ending a channel's turns needs the right 'admin'", fix="use a token that has it"
        )
    return call.api.own_session(agent, key)
