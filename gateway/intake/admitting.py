"""Letting in what was held for an operator. Pure."""

from __future__ import annotations

from channels.contract import Inbound
from gateway.engine.kinds import Millis
from gateway.engine.records import Held
from gateway.engine.struct import replace
from gateway.intake.stored import body_of, kind_of

__all__ = ["admission"]


def admission(source: str, inbound: Inbound, at: Millis) -> Held:
    """The row by which the inbox lets a message in, whatever it was held for. Once: a second one is the
    same row."""
    admitted = replace(inbound, budgets=(), doubt="")
    return Held(
        source=source,
        event_id=f"{inbound.event_id}:admitted",
        kind=kind_of(admitted),
        body=body_of(admitted),
        at=at,
    )
