"""Where a letter goes. Pure."""

from __future__ import annotations

from typing import cast

from channels.email.writing.addresses import problem
from channels.email.writing.tokens import Keys, conversation_id
from gateway.engine.kinds import JsonObject
from gateway.engine.struct import struct

__all__ = ["Target", "misspelt", "read_target"]


@struct(frozen=True, slots=True, kw_only=True)
class Target:
    """``subject`` is that of the mail that is answered, or of the letter itself if it answers none.
    ``answers``: it answers one, which may have no id. ``never``: nothing is to be sent.
    ``despite``: the takeover of its conversation after which somebody let the mail in all the same."""

    address: str
    conversation: str
    subject: str = ""
    answers: bool = False
    in_reply_to: str = ""
    references: tuple[str, ...] = ()
    never: bool = False
    despite: int | None = None


def read_target(given: JsonObject, keys: Keys, *, opening: str) -> Target | None:
    """``None`` where it names no address that a letter could go to. What belongs to no conversation begins
    one, the same for the same ``opening``."""
    address = _text(given, "address")
    if problem(address):
        return None
    references, despite = given.get("references"), given.get("despite")
    listed = cast("list[object]", references) if isinstance(references, list) else []
    return Target(
        address=address.lower(),
        conversation=_text(given, "conversation") or conversation_id(keys, opening),
        subject=_text(given, "subject"),
        answers="in_reply_to" in given,
        in_reply_to=_text(given, "in_reply_to"),
        references=tuple(one for one in listed if isinstance(one, str)),
        never=given.get("never") is True,
        despite=despite if isinstance(despite, int) else None,
    )


def misspelt(address: str) -> tuple[str, str] | None:
    """What is wrong with an address that an author names, and what to write instead."""
    why = problem(address)
    return (why, "email:ops@shop.example") if why else None


def _text(given: JsonObject, name: str) -> str:
    value = given.get(name)
    return value if isinstance(value, str) else ""
