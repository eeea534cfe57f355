"""What goes into a session and what comes back: the records of the public session API."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Literal

from gateway.engine.kinds import (
    Json,
    JsonObject,
    Millis,
    Outcome,
    Speaker,
    Trust,
    TurnState,
)
from gateway.engine.messages import Attachment, Text
from gateway.engine.records import Companion
from gateway.engine.struct import struct


@struct(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a turn that is being accepted comes to stand: behind ``position`` others, and if one of
    them is parked, ``waits_for`` names that turn. ``replaces`` are those that it ends."""

    position: int
    waits_for: str | None
    replaces: tuple[str, ...] = ()


Companions = tuple[Companion, ...] | Callable[[Standing], tuple[Companion, ...]]
"""Rows that commit with an acceptance, or what makes them once it is known where the turn stands: pure
and quick, and maybe asked more than once. What it raises is raised by ``start``, with nothing done."""


@struct(frozen=True, slots=True, kw_only=True)
class TurnInput:
    """What opens a turn.

    ``event`` is the verified inbound event without its raw payload; ``None`` for a programmatic or
    proactive turn. ``trust`` defaults to what the speaker's level and the trigger imply. ``source``
    selects the surface. ``target`` is where the turn is delivered; with ``deliver`` a delivery stands
    among its companions, and everything that becomes of the turn is told there. ``failed`` says why it
    can't begin: then it is kept, listed and told of like any that failed, and never runs.
    """

    message: str | Sequence[Text | Attachment]
    turn_id: str | None = None
    source: str = "api"
    speaker: Speaker | None = None
    event: JsonObject | None = None
    trigger: Literal["inbound", "proactive"] = "inbound"
    by: str | None = None
    target: JsonObject | None = None
    trust: Trust | None = None
    deliver: bool = False
    companions: Companions = ()
    failed: str | None = None


@struct(frozen=True, slots=True, kw_only=True)
class Started:
    """A turn that is committed. ``created`` is false when it was known already; ``position`` is
    how many turns of the session stand before it."""

    turn_id: str
    created: bool
    position: int


@struct(frozen=True, slots=True, kw_only=True)
class PendingInput:
    """An open request for a person's input, as every surface shows it."""

    id: str
    turn_id: str
    name: str
    tool: str
    arguments: JsonObject
    prompt: str
    schema: JsonObject
    answerers: JsonObject
    digest: str
    created_at: Millis
    expires_at: Millis | None = None
    votes: int = 0


@struct(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """Where a turn stands once it rests: ended, or parked on ``request``.

    ``error`` is ``{"message", "phase"?, "step"?}`` of a failed turn, ``{"deadline"}`` of one that
    timed out, ``{"reason"}`` of a cancelled one.
    """

    turn_id: str
    status: Literal["completed", "suspended", "failed", "cancelled", "timed_out"]
    text: str = ""
    error: JsonObject | None = None
    request: PendingInput | None = None


@struct(frozen=True, slots=True, kw_only=True)
class TurnSnapshot:
    """A turn as it stands now. A view built from it continues with events after ``last_seq``."""

    turn_id: str
    state: TurnState
    text: str
    error: JsonObject | None
    request: PendingInput | None
    usage: JsonObject
    cost: str | None
    last_seq: int
    queued_at: Millis
    started_at: Millis | None
    ended_at: Millis | None


@struct(frozen=True, slots=True, kw_only=True)
class Grant:
    """Leave to answer one policy request, made by the runtime from the agent's hook. ``request`` is that
    request's id: the same question in a later turn may be of another speaker, and is asked anew."""

    policy: str
    scope: str | None
    by: str
    request: str
    issuer: object = field(repr=False)


@struct(frozen=True, slots=True, kw_only=True)
class Answered:
    """What an answer did. ``decided`` is false while a quorum is still short (a vote was kept)."""

    turn_id: str
    decided: bool
    outcome: Outcome | None
    votes: int = 0
    quorum: int = 1
    value: Json = None


@struct(frozen=True, slots=True, kw_only=True)
class Reset:
    """``previous_session`` is the archived key (``<key>#g<k>``)."""

    previous_session: str
    generation: int
