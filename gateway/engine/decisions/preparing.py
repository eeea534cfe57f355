"""Whether a turn has to wait for something to be read before it begins. Pure."""

from __future__ import annotations

from collections.abc import Container

from gateway.engine.decisions.opening import Opening
from gateway.engine.kinds import SessionRef
from gateway.engine.ports import Preparing
from gateway.engine.records import SessionRow, SessionView, TurnRecord
from gateway.engine.struct import struct


@struct(frozen=True, slots=True, kw_only=True)
class Unprepared:
    """The turn can't begin before ``asked`` is read by the preparer of ``source``; nothing was
    written."""

    asked: Preparing
    source: str
    behind: int
    """How many other turns wait behind this one."""


def needs_reading(opening: Opening, preparers: Container[str]) -> bool:
    """Whether the event wants something read, and somebody here can: the object under ``fetch`` says
    what, in words of its source's own."""
    wanted = opening.event is not None and isinstance(opening.event.get("fetch"), dict)
    return wanted and opening.source in preparers


def unprepared(
    view: SessionView, session: SessionRow, record: TurnRecord, opening: Opening, ref: SessionRef
) -> Unprepared:
    """For a turn whose opening ``needs_reading``."""
    event = opening.event or {}
    fetch = event["fetch"]
    asked = Preparing(
        ref=ref,
        turn_id=record.turn_id,
        event=event,
        fetch=fetch if isinstance(fetch, dict) else {},
        # What a reset put away must not be read back from the platform.
        first=session.generation == 0 and session.next_index == 0,
    )
    return Unprepared(asked=asked, source=opening.source, behind=max(0, len(view.open) - 1))
