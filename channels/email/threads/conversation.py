"""Which conversation a mail belongs to, and whether its author may come in. Pure.

Ids decide, never a subject (which merges strangers). A signed plus-address names its conversation and the one
it was given to; an id of ours names its conversation, too, and everybody who was sent a copy knows it. So
neither is a key to the door alone: who comes in takes part already and is known, or brings the token that was
given to exactly this address.
"""

from __future__ import annotations

from typing import Literal

from channels.email.mail import Author
from gateway.engine.kinds import Level
from gateway.engine.struct import struct

__all__ = ["Conversation", "Hint", "Joined", "join"]


@struct(frozen=True, slots=True, kw_only=True)
class Conversation:
    """``people`` are the addresses that take part. ``taken_over``: the colleague who speaks in it now;
    ``times``: how often one has begun to."""

    id: str
    session: str
    people: tuple[str, ...] = ()
    taken_over: str = ""
    times: int = 0


@struct(frozen=True, slots=True, kw_only=True)
class Hint:
    """A conversation that a mail points at. ``given``: to whom of its people we gave the token that the mail
    came by, if it came by one."""

    conversation: Conversation
    given: str = ""


@struct(frozen=True, slots=True, kw_only=True)
class Joined:
    """``known`` goes on with a conversation, ``stranger`` is somebody else than its people who writes in it,
    ``new`` begins one; ``link`` is the conversation that it only points at."""

    how: Literal["known", "stranger", "new"]
    conversation: str
    session: str
    link: str = ""
    taken_over: str = ""
    times: int = 0


def join(
    author: Author | None, level: Level, hints: tuple[Hint, ...], fresh: Conversation
) -> Joined:
    """``hints`` in the order of their weight: tokens, ids of ours, ids of theirs. ``fresh`` is the
    conversation that this mail would begin."""
    link = hints[0].conversation.id if hints else ""
    new = Joined(how="new", conversation=fresh.id, session=fresh.session, link=link)
    if author is None:
        return new
    for hint in hints:
        takes_part = author.address in hint.conversation.people
        if takes_part and (level != "none" or hint.given == author.address):
            return _into("known", hint.conversation)
    for hint in hints:
        if hint.given and author.address not in hint.conversation.people:
            return _into("stranger", hint.conversation)
    return new


def _into(how: Literal["known", "stranger"], found: Conversation) -> Joined:
    return Joined(
        how=how,
        conversation=found.id,
        session=found.session,
        taken_over=found.taken_over,
        times=found.times,
    )
