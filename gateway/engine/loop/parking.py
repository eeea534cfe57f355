"""The one ``suspended`` checkpoint of a turn that waits for a person."""

from __future__ import annotations

import secrets
from dataclasses import replace

from gateway.engine import events as ev
from gateway.engine.decisions.position import Owed
from gateway.engine.loop.attempt import Attempt
from gateway.engine.loop.context import (
    RequestParts,
)
from gateway.engine.loop.signals import TurnFailure
from gateway.engine.records import (
    RequestRecord,
    Writes,
)
from gateway.engine.wire_events import event_row


async def commit_park(attempt: Attempt, owed: Owed, asked: RequestParts) -> None:
    """One ``suspended`` checkpoint with all that the answer will be held against."""
    now, record = attempt.now(), attempt.record
    limit = attempt.world.limits.request_bytes
    if len(asked.body.body().encode()) > limit:
        raise TurnFailure(
            f"the request for input is over {limit} bytes", phase="tool", step=owed.step
        )
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
    parked = replace(
        record,
        state="suspended",
        request=request.id,
        attempt_at=None,
        ran=attempt.ran(),
        crashes=0,
        suspect=0,
        last_seq=attempt.seq,
    )
    writes = Writes(events=(event_row(event, record.row),), turns=(parked,), requests=(request,))
    await attempt.commit(writes, (), (event,))
    attempt.progressed.set()
