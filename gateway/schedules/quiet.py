"""Nothing to report: a turn that nobody asked for says so with a call, and then nothing is posted."""

from __future__ import annotations

from gateway.engine.events import ActionCompleted
from gateway.engine.kinds import SessionRef
from gateway.engine.ports import SessionStore
from gateway.engine.records import TurnRecord
from gateway.engine.wire.events import event_from

NAME = "nothing_to_report"


async def kept_quiet(store: SessionStore, ref: SessionRef, record: TurnRecord) -> str | None:
    """Why a turn that completed had nothing to report; ``None`` for any other."""
    if record.state != "completed":
        return None
    after = 0
    while page := await store.events(ref, record.row, after):
        for entry in page:
            event = event_from(entry, ref, record.turn_id)
            if isinstance(event, ActionCompleted) and event.name == NAME and event.error is None:
                return event.result
        after = page[-1].event.seq
    return None
