"""The events that a delivery is rendered from."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import cast

from gateway.engine.errors import NotFoundError
from gateway.engine.events import InputRequested, TurnEvent
from gateway.engine.kinds import OPEN_STATES, SessionRef
from gateway.engine.ledger import Delivery
from gateway.engine.loop.observing import ReaderCut
from gateway.engine.runtime import Runtime


async def turn_stream(runtime: Runtime, delivery: Delivery) -> AsyncGenerator[TurnEvent, None]:
    """The turn's events behind ``delivery.seq``, without a gap. It ends at the terminal event, or where
    the turn waits for a person and all was told: at once, if that is so already. A reader that fell
    behind and was cut goes on from the log, so text that isn't committed may come again in other words.

    Raises ``NotFoundError`` for an agent or turn that isn't here.
    """
    session = runtime.session(delivery.agent, delivery.session)
    ref, turn_id, after = session.ref, delivery.turn_id, delivery.seq
    asked = after > 0  # somebody may have been, in what was told before
    while (left := await _left(runtime, ref, turn_id, after)) is not None:
        try:
            source = session.observe(turn_id, after=after)
            async with aclosing(cast("AsyncGenerator[TurnEvent, None]", source)) as events:
                async for event in events:
                    after = event.seq or after
                    yield event
                    asked = asked or isinstance(event, InputRequested)
                    if asked and event.durable and after >= left:
                        left = await _left(runtime, ref, turn_id, after)
                        if left is None:
                            return
        except ReaderCut:
            continue
        return


async def _left(runtime: Runtime, ref: SessionRef, turn_id: str, after: int) -> int | None:
    """The turn's last event as of now; ``None`` if it rests or is over, and nothing of it lies behind
    the cursor. What is answered later marks the delivery, which then comes back for the rest."""
    record = await runtime.store.turn(ref, turn_id)
    if record is None:
        raise NotFoundError(f"no turn {turn_id!r} in this session")
    rests = record.state == "suspended" or record.state not in OPEN_STATES
    return None if rests and after >= record.last_seq else record.last_seq
