"""A request as it stands, put together from what the store keeps of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from channels.protocol import Asked, CallState, Card, Decider
from gateway.approvals.ballot import ballot_of, value_of
from gateway.engine.decisions.park import request_body
from gateway.engine.decisions.position import call_step
from gateway.engine.kinds import OPEN_STATES, CancelReason
from gateway.engine.messages import ToolResult
from gateway.engine.records import RequestRecord, TurnRecord, VoteRow
from gateway.engine.wire import loads


def card_of(
    request: RequestRecord,
    turn: TurnRecord,
    votes: Sequence[VoteRow] = (),
    result: ToolResult | None = None,
    asked: Asked | None = None,
) -> Card:
    """``result`` is what the call that asked came to, if it came to anything. ``asked``: who asked for it.

    Of the votes only those are shown that count together by now. Where nobody decided (``expired``,
    ``cancelled``) ``decided`` says when all the same; its ``by`` is then no person's.
    """
    body = request_body(request.body)
    quorum = body.answerers.get("quorum", 1)
    return Card(
        request=request.id,
        turn_id=request.turn_id,
        name=request.name,
        tool=request.tool,
        prompt=body.prompt,
        arguments=body.arguments,
        schema=body.schema,
        answerers=body.answerers,
        digest=request.digest,
        quorum=quorum if isinstance(quorum, int) else 1,
        votes=ballot_of(votes).counted,
        created_at=request.created_at,
        expires_at=request.expires_at,
        outcome=request.outcome,
        decided=_decided(request),
        call=_call(request, turn, result),
        why_dropped=_why(turn),
        asked=asked,
    )


def _decided(request: RequestRecord) -> Decider | None:
    if request.outcome is None or request.decided_at is None:
        return None
    return Decider(
        by=request.by or "",
        value=value_of(request.value),
        reason=request.reason,
        at=request.decided_at,
    )


def _call(request: RequestRecord, turn: TurnRecord, result: ToolResult | None) -> CallState:
    if result is None:
        if turn.state not in OPEN_STATES:
            return "dropped"
        return "waits" if turn.state == "suspended" else "runs"
    if _never_ran(request, turn, result):
        return "dropped"
    return "failed" if result.is_error else "done"


def _never_ran(request: RequestRecord, turn: TurnRecord, result: ToolResult) -> bool:
    """The turn's end gave the call its result. A call that had begun by then, or that failed the turn,
    isn't one of those: it may have had its effect."""
    if turn.state in OPEN_STATES or turn.state == "completed" or result.decision is not None:
        return False
    step = call_step(request.position, request.call_id)
    fatal = turn.error is not None and loads(turn.error).get("step") == step
    began = isinstance(result.output, dict) and "idempotency_key" in result.output
    return not fatal and not began


def _why(turn: TurnRecord) -> CancelReason | None:
    if turn.state != "cancelled" or turn.error is None:
        return None
    return cast("CancelReason | None", loads(turn.error).get("reason"))
