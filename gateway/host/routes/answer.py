"""Answering what a turn is parked on: ``…/resume`` and ``/approvals/{id}``."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from gateway.approvals.authorise import decide_as, still_asked
from gateway.approvals.reading import read_ballot
from gateway.engine.agent import AgentDef
from gateway.engine.errors import NotFoundError, ResumeAuthorizationError, StaleAnswerError
from gateway.engine.kinds import Json
from gateway.engine.outcomes import Answered, TurnResult
from gateway.engine.records import RequestSummary
from gateway.engine.session import Session
from gateway.host.api import Api
from gateway.host.auth import Decider, decider
from gateway.host.channels.delivering import check_delivered
from gateway.host.problems import json_response
from gateway.host.routes.start import accepted, follow, outcome
from gateway.host.stream import at_seq, stream
from gateway.host.table import Call
from gateway.host.views import answered_json, approval_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """An answer as a caller sent it."""

    turn_id: str
    input_id: str
    value: Json
    decider: Decider
    reason: str | None
    digest: str | None


async def resume(call: Call) -> web.StreamResponse:
    """Apply an answer, then follow the continuation or wait for where it ends."""
    session = call.api.session(call.path["agent"], call.path["session"])
    decision = _decision(call, str(call.body["turn_id"]), str(call.body["input_id"]))
    if call.flag("deliver"):
        await check_delivered(call.api.runtime, call.api.registry, session, decision.turn_id)
        _ = await _apply(call.api, session, decision)
        return accepted(call, session, decision.turn_id)
    turn_id = decision.turn_id
    seen = 0
    if not call.accepts("application/json"):
        seen = await _last_seq(session, turn_id)
    answered = await _apply(call.api, session, decision)
    call.headers["Turn-Id"] = turn_id
    if call.accepts("application/json"):
        return outcome(call, session, await _rest(session, turn_id, answered))
    if answered.decided:
        return await follow(call, session, turn_id, after=seen)
    # A vote that doesn't decide: what it added to the log, and no more.
    last = at_seq(await _last_seq(session, turn_id))
    events = session.observe(turn_id, after=seen)
    return await stream(call.api, call.request, events, last, call.headers)


async def _last_seq(session: Session, turn_id: str) -> int:
    try:
        return (await session.snapshot(turn_id)).last_seq
    except NotFoundError as error:
        # An answer to what isn't there is an answer that came to the wrong place.
        raise StaleAnswerError(
            str(error), fix="read the session's pending request and answer that"
        ) from error


async def _rest(session: Session, turn_id: str, answered: Answered) -> TurnResult:
    if answered.decided:
        return await session.result(turn_id)
    request = (await session.snapshot(turn_id)).request
    return TurnResult(turn_id=turn_id, status="suspended", request=request)


async def approval(call: Call) -> web.StreamResponse:
    found = await _request(call)
    ballot = await read_ballot(call.api.runtime.store, found)
    return json_response(call.api.names.beside(approval_json(found, ballot)))


async def decide(call: Call) -> web.StreamResponse:
    """Answer a request by its id alone: for the CLI and the console."""
    found = await _request(call)
    session = call.api.session(found.ref.agent, found.ref.key)
    decision = _decision(call, found.request.turn_id, found.request.id)
    return json_response(answered_json(found, await _apply(call.api, session, decision)))


async def _request(call: Call) -> RequestSummary:
    found = await call.api.runtime.store.find_request(call.path["id"])
    if found is None:
        raise NotFoundError(f"no request {call.path['id']!r}", fix="list them: GET /approvals")
    return found


def _decision(call: Call, turn_id: str, input_id: str) -> Decision:
    return Decision(
        turn_id=turn_id,
        input_id=input_id,
        value=call.body["value"],
        decider=decider(call.token, call.text("by")),
        reason=call.text("reason"),
        digest=call.text("digest"),
    )


async def _apply(api: Api, session: Session, decision: Decision) -> Answered:
    """What is stale is said before anything else, so that errors keep their order."""
    found = await api.runtime.store.find_request(decision.input_id)
    if found is None or found.ref != session.ref or found.request.turn_id != decision.turn_id:
        raise StaleAnswerError(
            "this turn has no such request",
            fix="read the session's pending request and answer that",
        )
    given = decision.decider
    if given.via:
        await _may_be_asserted(api.agents()[session.ref.agent], session, found, decision)
    return await decide_as(
        session,
        found,
        decision.value,
        by=given.by,
        principal=given.principal,
        reason=decision.reason,
        digest=decision.digest,
        via=given.via,
    )


async def _may_be_asserted(
    agent: AgentDef, session: Session, found: RequestSummary, decision: Decision
) -> None:
    """Money isn't moved on a token's word about who decided, unless a policy takes it."""
    tool = agent.tools.get(found.request.tool)
    if tool is not None and tool.effect != "money":  # a tool that is gone may have been one
        return
    pending = await still_asked(session, found, decision.digest)
    if pending is not None and "policy" not in pending.answerers:
        raise ResumeAuthorizationError(
            "a request about money takes no identity that a token only asserts",
            fix="let a policy decide (answerers={'policy': …}), or answer where the person signs in",
        )
