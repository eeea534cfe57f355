"""The one ``suspended`` checkpoint of a turn that waits for a person."""

from __future__ import annotations

import secrets
from functools import partial

from gateway.engine import events as ev
from gateway.engine.decisions.park import suspend
from gateway.engine.decisions.position import Owed
from gateway.engine.decisions.telling import card_view, told
from gateway.engine.records import PARKED, Ask, RequestRecord, Writes
from gateway.engine.steps.attempt import Attempt
from gateway.engine.steps.context import (
    RequestParts,
)
from gateway.engine.steps.signals import Cancelled
from gateway.engine.struct import replace
from gateway.engine.wire.events import event_row


async def commit_park(attempt: Attempt, owed: Owed, asked: RequestParts) -> None:
    """One ``suspended`` checkpoint with all that the answer will be held against. Raises
    ``Cancelled`` when the turn was asked to end before it could park."""
    now, record = attempt.now(), attempt.record
    request = RequestRecord(
        id=f"req_{secrets.token_urlsafe(12)}",
        key=asked.key,
        turn=record.row,
        turn_id=record.turn_id,
        position=owed.position,
        call_id=owed.call.id,
        name=asked.name,
        tool=owed.call.name,
        digest=asked.digest,
        body=asked.body.body(),
        created_at=now,
        expires_at=asked.expires_at,
    )
    event = ev.InputRequested(
        turn_id=record.turn_id,
        session=attempt.session,
        at=now,
        seq=attempt.next_seq(),
        id=request.id,
        name=asked.name,
        prompt=asked.body.prompt,
        schema=asked.body.schema,
        answerers=asked.body.answerers,
        digest=asked.digest,
        expires_at=asked.expires_at,
    )
    view = card_view(
        record,
        request,
        answerers=asked.body.answerers,
        approvals=attempt.world.agent.approvals,
        target=attempt.begun.opening.target,
    )
    parked = replace(
        record,
        state="suspended",
        request=request.id,
        attempt_at=None,
        ran=attempt.ran(),
        crashes=0,
        suspect=0,
        last_seq=attempt.seq,
        delivers=record.delivers or view is not None,
    )
    started = attempt.steps.get(owed.step)
    let_go = () if started is None else (replace(started, body=PARKED, at=now),)
    writes = told(
        Writes(
            steps=let_go,
            events=(event_row(event, record.row),),
            turns=(parked,),
            requests=(request,),
            companions=() if view is None else (view,),
        )
    )
    world = attempt.world
    decide = partial(suspend, fence=attempt.fence, writes=writes)
    cancelled = await world.store.amend(world.ref, Ask(turn_id=attempt.turn_id), decide)
    if cancelled is not None:
        attempt.steps.update((step.step, step) for step in let_go)
        raise Cancelled(cancelled)
    await attempt.committed(writes, (), (event,))
    attempt.progressed.set()
