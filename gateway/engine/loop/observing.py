"""Watching a turn: the log after a cursor, then what happens now, with no seam between the two."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import nullcontext

from gateway.engine.errors import NotFoundError, RequestError
from gateway.engine.events import TurnEvent
from gateway.engine.kinds import OPEN_STATES, SessionRef
from gateway.engine.loop.home import Home
from gateway.engine.ports import Subscription
from gateway.engine.records import TurnRecord
from gateway.engine.wire.events import event_from


class ReaderCut(RequestError):
    """The reader fell too far behind and was cut; it resumes by its cursor."""

    status = 409
    code = "reader_cut"


async def observe(
    runtime: Home, ref: SessionRef, turn_id: str, after: int, heard: Subscription | None
) -> AsyncIterator[TurnEvent]:
    """Subscribe first, then read the log, then follow: what commits in between is in one of the two,
    and ``seq`` tells which was seen. ``heard`` has listened since before the turn began, so that the
    log holds nothing more at first. The log is read again after each silence, so that a lost
    notice, or an event of another process, arrives all the same."""
    store = runtime.store
    record = await store.turn(ref, turn_id)
    if record is None:
        raise NotFoundError(f"no turn {turn_id!r} in this session")
    listening = runtime.sink.subscribe(ref, turn_id) if heard is None else nullcontext(heard)
    async with listening as live:
        heard_all = heard is not None
        while True:
            if not heard_all:
                async for event in _logged(runtime, ref, record, after):
                    after = event.seq or after
                    yield event
                    if event.terminal:
                        return
                if await _over(runtime, ref, record, after):
                    return
            heard_all = False
            async for event in _live(runtime, live, after):
                after = event.seq or after
                yield event
                if event.terminal:
                    return
            if live.lagged:
                raise ReaderCut(
                    "this reader is too slow and was cut", fix=f"read on from after={after}"
                )


async def _over(runtime: Home, ref: SessionRef, record: TurnRecord, after: int) -> bool:
    """Whether the turn ended and the reader had seen its last event when it came."""
    if record.state in OPEN_STATES:
        found = await runtime.store.turn(ref, record.turn_id)
        record = found or record
    return record.state not in OPEN_STATES and after >= record.last_seq


async def _logged(
    runtime: Home, ref: SessionRef, record: TurnRecord, after: int
) -> AsyncIterator[TurnEvent]:
    """The log after the cursor, to its end."""
    while entries := await runtime.store.events(ref, record.row, after):
        for entry in entries:
            after = entry.event.seq
            yield event_from(entry, ref, record.turn_id)


async def _live(runtime: Home, live: Subscription, after: int) -> AsyncIterator[TurnEvent]:
    """What happens from here on, until a silence or a gap sends the reader back to the log."""
    while (event := await live.next(runtime.poll)) is not None:
        if event.seq is not None:
            if event.seq <= after:
                continue
            if event.seq > after + 1:
                return
            after = event.seq
        yield event
