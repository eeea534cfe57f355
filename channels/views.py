"""What of a turn and its requests whoever renders them may look at. Records only."""

from __future__ import annotations

from typing import Literal

from gateway.engine.kinds import (
    CancelReason,
    Json,
    JsonObject,
    Level,
    Millis,
    Outcome,
    Speaker,
    TurnState,
)
from gateway.engine.struct import struct

__all__ = ["Asked", "CallState", "Card", "Decider", "TurnView"]

CallState = Literal["waits", "runs", "done", "failed", "dropped"]
"""What became of the call that asked for a decision."""


@struct(frozen=True, slots=True, kw_only=True)
class Decider:
    """One person's decision. ``by`` is an identity."""

    by: str
    value: Json
    reason: str | None = None
    at: Millis


@struct(frozen=True, slots=True, kw_only=True)
class Asked:
    """Who asked for what a request is about, for deciders who weren't there.

    ``speaker`` is an identity, ``name`` what they call themselves. ``known`` says in one sentence how well
    they are known (``level``), ``reasons`` why not better. ``words`` are theirs, ``hidden`` how many
    characters of them are left out: a quotation, which no surface may show as words of ours. ``since`` says
    in a sentence what has changed in their conversation since then, if anything has.
    """

    source: str
    speaker: str
    name: str
    level: Level
    known: str
    reasons: tuple[str, ...]
    words: str
    hidden: int = 0
    since: str = ""


@struct(frozen=True, slots=True, kw_only=True)
class Card:
    """A request for a person's input, as it stands now.

    ``outcome`` is ``None`` while it is open. ``call`` says what became of the call that asked: it
    ``waits`` for the decision, ``runs`` under it, is ``done``, has ``failed``, or was ``dropped`` without
    having run.
    """

    request: str
    turn_id: str
    name: str
    tool: str
    prompt: str
    arguments: JsonObject
    schema: JsonObject
    answerers: JsonObject
    digest: str
    quorum: int
    votes: tuple[Decider, ...]
    created_at: Millis
    expires_at: Millis | None
    outcome: Outcome | None
    decided: Decider | None
    call: CallState
    why_dropped: CancelReason | None = None
    asked: Asked | None = None
    """Only where their channel tells how well it knows who speaks."""


@struct(frozen=True, slots=True, kw_only=True)
class TurnView:
    """A turn as it stands now, as far as who renders it may know.

    ``reference`` is what a person is given to quote; nothing here says what went wrong inside. ``behind``
    is the request that an earlier turn of the session is parked on, while this one waits for that.
    ``schedule`` is the name of the one that began it, of a turn that nobody asked for.
    """

    turn_id: str
    state: TurnState
    reference: str
    speaker: Speaker | None
    event: JsonObject | None
    cancelled: CancelReason | None = None
    behind: Card | None = None
    schedule: str = ""
