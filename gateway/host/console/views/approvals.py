"""Requests for a decision: those that wait, those decided, those that nobody decided in time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

from channels.protocol import Asked, Decider
from gateway.approvals.asking import read_asked
from gateway.approvals.ballot import Ballot
from gateway.approvals.reading import read_ballot
from gateway.engine.decisions.opening import opening_from
from gateway.engine.decisions.park import not_the_requester, request_body
from gateway.engine.errors import ResumeAuthorizationError
from gateway.engine.kinds import Json, JsonObject, SessionRef
from gateway.engine.records import RequestRecord, RequestSummary, TurnRecord
from gateway.engine.tool import Tool
from gateway.host.console.seen import Seen
from gateway.host.console.views import fields, links
from gateway.host.words.names import Names

SHOWS = ("waiting", "decided", "expired")


async def approvals(seen: Seen) -> JsonObject:
    show = seen.choice("show", *SHOWS)
    store = seen.store

    async def fetch(limit: int) -> Sequence[RequestSummary]:
        if show == "waiting":
            return await store.list_requests(limit=limit)
        return await store.list_past_requests(decided=show == "decided", limit=limit)

    found, pages = await seen.rows(fetch)
    cards: list[Json] = [await read_row(seen, one) for one in found]
    return {"show": show, "approvals": cards, **pages}


async def read_row(seen: Seen, found: RequestSummary) -> JsonObject:
    turn = await seen.store.turn(found.ref, found.request.turn_id)
    tool = _tool(seen, found.ref, found.request.tool)
    ballot = await read_ballot(seen.store, found)
    me = seen.visitor.identity
    mine = ballot.vote_of(me)
    told = row(found.ref, found.request, turn, tool, ballot, seen.names)
    told["voted"] = None if mine is None else vote_kept(ballot, mine, found.request)
    told["barred"] = barred(found.request, turn, me)
    told["asked"] = asked(None if turn is None else await read_asked(seen.store, found.ref, turn))
    return told


def asked(given: Asked | None) -> JsonObject | None:
    """Who asked for it, where that is for the decider to weigh."""
    if given is None:
        return None
    reasons: list[Json] = [*given.reasons]
    return {
        "by": given.speaker,
        "name": given.name,
        "source": given.source,
        "level": given.level,
        "known": given.known,
        "reasons": reasons,
        "words": given.words,
        "hidden": given.hidden,
        "since": given.since,
    }


def _tool(seen: Seen, ref: SessionRef, name: str) -> Tool | None:
    agent = seen.api.agents().get(ref.agent)
    return None if agent is None else agent.tools.get(name)


def row(
    ref: SessionRef,
    request: RequestRecord,
    turn: TurnRecord | None,
    tool: Tool | None,
    ballot: Ballot,
    names: Names,
) -> JsonObject:
    body = request_body(request.body)
    told: JsonObject = {
        "id": request.id,
        "agent": ref.agent,
        "session": ref.key,
        "turn_id": request.turn_id,
        "tool": request.tool,
        "effect": None if tool is None else tool.effect,
        "prompt": body.prompt,
        "arguments": body.arguments,
        "digest": request.digest,
        "who": who(body.answerers, names),
        "asked_by": None if turn is None else turn.speaker,
        "source": None if turn is None else turn.source,
        "field": fields.field(body.schema),
        "votes": len(ballot.counted),
        "cast": [names.beside(cast("JsonObject", vote)) for vote in ballot.rows()],
        "quorum": quorum_of(request),
        "created_at": request.created_at,
        "expires_at": request.expires_at,
        "outcome": request.outcome,
        "by": request.by,
        "reason": request.reason,
        "value": None if request.value is None else json.loads(request.value),
        "decided_at": request.decided_at,
        "href": links.approval(request.id),
        "session_href": links.session(ref, request.turn_id),
    }
    return names.beside(told)


def quorum_of(request: RequestRecord) -> int:
    quorum = request_body(request.body).answerers.get("quorum", 1)
    return quorum if isinstance(quorum, int) else 1


def vote_kept(ballot: Ballot, mine: Decider, request: RequestRecord) -> str:
    """What somebody who voted is told while others' votes are missing."""
    quorum = quorum_of(request)
    if why := ballot.why_apart(mine):
        return f"Your vote is kept, but {why}. {len(ballot.counted)} of {quorum} so far."
    return f"Your vote counts: {len(ballot.counted)} of {quorum} so far."


def barred(request: RequestRecord, turn: TurnRecord | None, me: str) -> str:
    """Why somebody may not decide, as far as that is known without asking a policy; empty if they may."""
    answerers = request_body(request.body).answerers
    user = answerers.get("user")
    if user is not None and user != me:
        return f"Only {user} may decide this, and you are {me}."
    if answerers.get("not_requester") and turn is not None:
        try:
            not_the_requester(me, opening_from(turn.body).speaker)
        except ResumeAuthorizationError as error:
            why = str(error)
            return f"You may not decide this: {why}."
    return ""


def who(answerers: JsonObject, names: Names) -> str:
    """Who may decide, in words."""
    user, policy = answerers.get("user"), answerers.get("policy")
    if user is not None:
        told = names.shown(str(user))
    elif policy is not None:
        scope = answerers.get("scope")
        told = f"policy {policy}" + (f" ({scope})" if scope else "")
    else:
        told = "any operator"
    quorum = answerers.get("quorum", 1)
    if quorum != 1:
        told = f"{quorum} of {told}"
    return f"{told}, but not whoever asked" if answerers.get("not_requester") else told
