"""Reading a request as every surface shows it."""

from __future__ import annotations

from collections.abc import Sequence

from channels.protocol import Card
from gateway.approvals.asking import read_asked
from gateway.approvals.ballot import Ballot, ballot_of
from gateway.approvals.card import card_of
from gateway.engine.decisions.closing import stored_result
from gateway.engine.decisions.park import request_body
from gateway.engine.decisions.position import call_step
from gateway.engine.kinds import SessionRef
from gateway.engine.messages import ToolResult
from gateway.engine.ports import SessionStore
from gateway.engine.records import (
    Ask,
    Plan,
    RequestRecord,
    RequestSummary,
    SessionView,
    TurnRecord,
    VoteRow,
)
from gateway.engine.wire import message_from


async def read_card(store: SessionStore, request_id: str) -> Card | None:
    """``None`` for a request that isn't kept: a call that asks for something else in the end takes its
    first request back, and the new one has another id."""
    found = await store.find_request(request_id)
    if found is None:
        return None
    request, ref = found.request, found.ref
    turn = await store.turn(ref, request.turn_id)
    if turn is None:
        return None
    votes = await _votes(store, found)
    result = await _result(store, ref, turn, request)
    return card_of(request, turn, votes, result, await read_asked(store, ref, turn))


async def read_ballot(store: SessionStore, found: RequestSummary) -> Ballot:
    return ballot_of(await _votes(store, found))


async def _votes(store: SessionStore, found: RequestSummary) -> Sequence[VoteRow]:
    """Whose votes they are is shown under the session's lock only; nothing is written."""

    def look(view: SessionView) -> Plan[Sequence[VoteRow]]:
        return Plan(view.votes)

    request = found.request
    if not found.votes or request_body(request.body).answerers.get("quorum", 1) == 1:
        return ()
    return await store.amend(found.ref, Ask(turn_id=request.turn_id, request=request.id), look)


async def _result(
    store: SessionStore, ref: SessionRef, turn: TurnRecord, request: RequestRecord
) -> ToolResult | None:
    if request.outcome is None:
        return None
    name = call_step(request.position, request.call_id)
    step = next((one for one in await store.steps(turn.row) if one.step == name), None)
    if step is None or not step.done:
        return None
    if step.message is None:
        return stored_result(step)[0]
    rows = await store.messages(ref, turn.generation, step.message - 1, limit=1)
    results = message_from(rows[0]).results if rows else ()
    return next((one for one in results if one.call_id == request.call_id), None)
