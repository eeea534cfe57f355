"""A conversation as it goes on: an event stream that tells an open page to look again.

The cursor is ``<turn>.<seq>``, the number of a turn in its session and of its last event that was told.
What a page missed is told once when it comes back, by whichever host it finds.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator

from aiohttp import web

from gateway.engine.errors import NotFoundError
from gateway.engine.kinds import OPEN_STATES, SessionRef
from gateway.engine.records import TurnRecord
from gateway.engine.session import Session
from gateway.host.console.access.guard import visitor_of
from gateway.host.console.seen import Seen
from gateway.host.console.views.session import TURNS, current
from gateway.host.stream import send

AGAIN = 1.0
"""Seconds between two looks for the next turn, while none is open."""
_CURSOR = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})")


async def live(seen: Seen) -> web.StreamResponse:
    ref = SessionRef(seen.word("agent", seen.api.agent), seen.word("key"))
    if await seen.store.session(ref) is None:
        raise NotFoundError("there is no such session", fix="look under Sessions")
    # A browser that comes back sends the header beside the query of its first visit.
    cursor = seen.request.headers.get("Last-Event-ID") or seen.word("after")
    found = _CURSOR.fullmatch(cursor)
    after = (0, 0) if found is None else (int(found[1]), int(found[2]))
    session = seen.api.runtime.session(ref.agent, ref.key)
    return await send(seen.api, seen.request, _changes(seen, session, after), {})


async def _changes(seen: Seen, session: Session, after: tuple[int, int]) -> AsyncIterator[bytes]:
    """Until its reader may see no more."""
    number, seq = after
    while await visitor_of(seen.request) is not None:
        turn = await _now(seen, session.ref)
        if turn is not None and turn.number != number:
            number, seq = turn.number, 0
            yield _refresh(turn.turn_id, number, 0)
        if turn is not None and (turn.state in OPEN_STATES or turn.last_seq > seq):
            async for event in session.observe(turn.turn_id, after=seq):
                if event.seq is not None and await visitor_of(seen.request) is None:
                    return
                if event.seq is not None:
                    seq = event.seq
                    yield _refresh(turn.turn_id, number, seq)
        else:
            await asyncio.sleep(AGAIN)


async def _now(seen: Seen, ref: SessionRef) -> TurnRecord | None:
    """The turn whose move it is, or the latest."""
    return current(await seen.store.list_turns(ref=ref, limit=TURNS))


def _refresh(turn_id: str, number: int, seq: int) -> bytes:
    told = json.dumps({"turn_id": turn_id, "seq": seq}, separators=(",", ":"))
    return f"event: refresh\ndata: {told}\nid: {number}.{seq}\n\n".encode()
