"""Requests for a decision: those that wait, those decided, those that nobody decided in time."""

from __future__ import annotations

import json
from collections.abc import Sequence

from gateway.engine.decisions.park import request_body
from gateway.engine.kinds import Json, JsonObject, SessionRef
from gateway.engine.records import RequestRecord, RequestSummary, TurnRecord
from gateway.engine.tool import Tool
from gateway.host.console.seen import Seen
from gateway.host.console.views import fields, links

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
    return row(found.ref, found.request, turn, tool, found.votes)


def _tool(seen: Seen, ref: SessionRef, name: str) -> Tool | None:
    agent = seen.api.agents().get(ref.agent)
    return None if agent is None else agent.tools.get(name)


def row(
    ref: SessionRef, request: RequestRecord, turn: TurnRecord | None, tool: Tool | None, votes: int
) -> JsonObject:
    body = request_body(request.body)
    quorum = body.answerers.get("quorum", 1)
    return {
        "id": request.id,
        "agent": ref.agent,
        "session": ref.key,
        "turn_id": request.turn_id,
        "tool": request.tool,
        "effect": None if tool is None else tool.effect,
        "prompt": body.prompt,
        "arguments": body.arguments,
        "digest": request.digest,
        "who": who(body.answerers),
        "asked_by": None if turn is None else turn.speaker,
        "source": None if turn is None else turn.source,
        "field": fields.field(body.schema),
        "votes": votes,
        "quorum": quorum,
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


def who(answerers: JsonObject) -> str:
    """Who may decide, in words."""
    user, policy = answerers.get("user"), answerers.get("policy")
    if user is not None:
        told = str(user)
    elif policy is not None:
        scope = answerers.get("scope")
        told = f"policy {policy}" + (f" ({scope})" if scope else "")
    else:
        told = "any operator"
    quorum = answerers.get("quorum", 1)
    if quorum != 1:
        told = f"{quorum} of {told}"
    return f"{told}, but not whoever asked" if answerers.get("not_requester") else told
