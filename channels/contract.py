"""What every channel speaks: the records between a platform's wire and the gateway.

A channel turns bytes into one of four things (``Parsed``) and is told in return how it was judged
(``Verdict``). On the way out it reports what became of a send (``Sent``, ``NotSent``, ``Unknown``)
and may fail in two ways only (``RetryLater``, ``Undeliverable``). Nothing here waits, sends or knows
a platform.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from enum import Enum
from typing import Final, Literal, Protocol

from gateway.engine.kinds import Json, JsonObject, Millis, Speaker
from gateway.engine.struct import struct

__all__ = [
    "MISSING",
    "SETTLING",
    "Addressed",
    "Answer",
    "Author",
    "Budget",
    "Clerk",
    "Control",
    "ControlKind",
    "FileRef",
    "Follow",
    "HookReply",
    "HookRequest",
    "Ignored",
    "Inbound",
    "Missing",
    "NotSent",
    "Parsed",
    "Place",
    "Replace",
    "RetryLater",
    "Route",
    "Sent",
    "SentOrNot",
    "Undeliverable",
    "Unknown",
    "Verdict",
    "Word",
]

Replace = bool | Literal["speaker"]
"""What a newer message does to turns under way: nothing, cancel all of the session's (``True``, a
channel's ``"thread"``), or cancel those of the same speaker."""

Addressed = Literal["mention", "direct", "agent", "thread", "none"]
"""How a message came to us: by our name, in a conversation of two, in the platform's own agent view,
as a reply in a thread, or not at all."""

Author = Literal["person", "external", "bot", "self"]
"""Whose hand wrote it. ``external``: a person of another organisation; ``self``: our own echo."""

Follow = Literal["thread", "mention"]
"""Whether replies in a thread that we take part in need to name us."""

Word = Literal[
    "accepted",
    "duplicate",
    "not_addressed",
    "own_echo",
    "other_bot",
    "loop",
    "automated_mail",
    "policy",
    "queued",
    "held",
    "unsupported",
]
"""The word that every verified event ends with. ``rule`` beside it says which rule decided."""

ControlKind = Literal[
    "stop", "reset", "edit", "delete", "show", "form", "uninstalled", "revoked", "home"
]


class Missing(Enum):
    """The type of ``MISSING``: no value at all, where ``None`` (JSON's null) is one."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


# -- HTTP ------------------------------------------------------------------------------------------
@struct(frozen=True, slots=True, kw_only=True)
class HookRequest:
    """One request as a channel sees it. Header names are lower-case, and each stands there once: a
    request that repeats one never gets this far."""

    method: str
    path: str
    query: Mapping[str, tuple[str, ...]]
    headers: Mapping[str, str]
    body: bytes
    at: Millis


@struct(frozen=True, slots=True)
class HookReply:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@struct(frozen=True, slots=True, kw_only=True)
class Route:
    """A webhook. ``path`` continues ``/channels/<source>``, and takes any last segment where it ends in
    ``/*``. A longer body than ``body_limit`` is refused before the handler is asked. ``GET`` stands for
    ``HEAD``, too."""

    method: Literal["GET", "POST"]
    path: str = ""
    handler: Callable[[HookRequest], Awaitable[HookReply]]
    body_limit: int = 1 << 20


# -- the way in ------------------------------------------------------------------------------------
@struct(frozen=True, slots=True)
class Place:
    """Where something was said. ``key`` is what bindings know it by (``slack:T1:C1:1700.1``);
    ``session`` the session's key as long as nothing is bound there."""

    key: str
    session: str


@struct(frozen=True, slots=True, kw_only=True)
class FileRef:
    """A file that came with a message, not fetched yet. Name, type and size are the sender's claim."""

    id: str
    name: str
    media_type: str
    size: int
    url: str


@struct(frozen=True, slots=True, kw_only=True)
class Budget:
    """So many messages are let in under ``key`` within ``window`` milliseconds; the next is held for an
    operator."""

    key: str
    most: int
    window: Millis


@struct(frozen=True, slots=True, kw_only=True)
class Inbound:
    """A message that may open a turn.

    A platform may tell one post in several events, so ``event_id`` names the telling and ``post`` the
    post; ``keys`` are all dedupe keys that its acceptance claims, and ``turn_id`` derives from the
    post. Posts of one channel sort in the order in which they were written, so that one which comes late
    ends nothing that was said after it. ``pair`` names us and the bot that wrote it, for the breaker; ``None``
    for a person. ``places`` are bound to the session along with ``place``. ``doubt`` is the rule by which an
    operator has to let it in, empty for most.
    """

    event_id: str
    keys: tuple[str, ...]
    post: str
    turn_id: str
    place: Place
    addressed: Addressed
    author: Author
    speaker: Speaker
    text: str
    files: tuple[FileRef, ...] = ()
    root_is_ours: bool = False
    """It replies to a post of ours, whether or not we know that post yet."""
    follow: Follow = "thread"
    pair: str | None = None
    places: tuple[str, ...] = ()
    budgets: tuple[Budget, ...] = ()
    doubt: str = ""
    replace: Replace = False
    event: JsonObject
    """The verified event without its raw payload: kept with the turn, shown to tools."""
    target: JsonObject
    """Where the answer goes; only this channel reads it."""
    fetch: JsonObject | None = None
    """What is still to be read from the platform before the turn opens; ``None`` for nothing."""


@struct(frozen=True, slots=True, kw_only=True)
class Answer:
    """A person's decision about a request. ``shown`` is the reference of the message it was made on
    and ``digest`` that of what the message showed, where the platform repeats it (else empty)."""

    event_id: str
    keys: tuple[str, ...]
    request: str
    shown: str
    digest: str
    by: Speaker
    value: Json | Missing
    """``MISSING`` where the person asked for a form and hasn't filled it in."""
    reason: str | None = None
    reply: JsonObject
    """How to say something to this person about it, privately."""


@struct(frozen=True, slots=True, kw_only=True)
class Control:
    """Something that isn't a message: stop, reset, an edit, a button that decides nothing, news of
    the installation. ``inbound`` is the edited message as it reads now; ``at`` the platform's own
    stamp of the change."""

    event_id: str
    keys: tuple[str, ...]
    kind: ControlKind
    place: Place | None = None
    by: Speaker | None = None
    post: str | None = None
    inbound: Inbound | None = None
    at: str | None = None
    reply: JsonObject


@struct(frozen=True, slots=True, kw_only=True)
class Ignored:
    """An event that starts nothing. ``reason`` is for ``gateway why``; ``say``, if anything, is told
    to the person by way of ``reply``. No text of what wasn't addressed to us belongs in here."""

    event_id: str
    verdict: Word
    rule: str
    reason: str
    place: str | None = None
    speaker: str | None = None
    say: str | None = None
    reply: JsonObject | None = None


Parsed = Inbound | Answer | Control | Ignored


@struct(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How an event was judged, once that is stored. ``said`` is what the person is told."""

    word: Word
    rule: str
    turn_id: str | None = None
    said: str | None = None


# -- the way out -----------------------------------------------------------------------------------
@struct(frozen=True, slots=True)
class Sent:
    """The platform has it, under ``ref``; ``hash`` is that of what it holds, where it can be told."""

    ref: str
    hash: str | None = None


@struct(frozen=True, slots=True)
class NotSent:
    """The platform was asked and doesn't have it."""


@struct(frozen=True, slots=True)
class Unknown:
    """It can't be told now whether the platform has it: nothing may be sent again. ``retry_after``
    is in seconds."""

    why: str
    retry_after: float | None = None


SentOrNot = Sent | NotSent | Unknown

SETTLING = Millis(20_000)
"""How long after it was begun a call may still have its effect, though its answer was lost: until then
``NotSent`` may turn into ``Sent``."""


class RetryLater(Exception):
    """Delivering can't go on now; the outbox comes back at ``at``."""

    def __init__(self, at: Millis, why: str) -> None:
        super().__init__(why)
        self.at = at
        self.why = why


class Undeliverable(Exception):
    """This can't be delivered: a dead letter. ``reason`` is one stable word, ``detail`` a sentence
    for an operator. ``revive_on`` names what would bring it back (``installation:T1``)."""

    def __init__(self, reason: str, detail: str, revive_on: str | None = None) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
        self.revive_on = revive_on


# -- for operators -----------------------------------------------------------------------------------


class Clerk(Protocol):
    """What an operator does with what came in: look at it as it came, let in what was held, hand a
    conversation back to the agent. A channel that keeps what it is sent has one, by an optional method
    ``clerk(ledger, clock) -> Clerk``, which takes no connection and no start.

    Events go by their ids, conversations by an id of the channel's own or by their session's key.
    ``None``: there is no such thing, or it isn't kept any more. What came in is text of strangers, and
    whoever shows it makes it harmless. Everything raises ``StoreUnavailableError``.
    """

    async def read(self, event: str, *, whole: bool = True) -> JsonObject | None:
        """What came in, and how its author was judged when it came: ``from``, ``address``, ``domain``,
        ``level``, ``reasons`` in words, ``subject``, ``at``, ``conversation``, ``session``. ``whole``: also
        its ``text``, its ``attachments`` and what else there is to say."""
        ...

    async def raw(self, event: str) -> bytes | None:
        """The bytes as they came."""
        ...

    async def replay(self, event: str) -> JsonObject | None:
        """What would become of it if it came now: ``verdict``, ``rule``, ``why``, and what ``read`` says.
        Changes nothing."""
        ...

    async def admitted(self, event: str) -> Inbound | None:
        """What was held, as it is let in."""
        ...

    async def conversation(self, key: str) -> JsonObject | None:
        """``conversation``, ``session``, ``people``, and as ``taken_over`` who of ours speaks in it."""
        ...

    async def hand_back(self, key: str) -> JsonObject | None:
        """The agent speaks again. The conversation as it is then."""
        ...
