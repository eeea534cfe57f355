"""The files of a mail, read from its bytes when a turn begins.

Whoever wrote the mail decides how long that takes: it is done beside the loop, in a thread of its own, and given
up in time for the turn to begin without.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Protocol, cast

from channels.email.mime.read import contents
from channels.email.threads.shelf import Shelf
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.ledger import Ledger
from gateway.engine.limits import Clock
from gateway.engine.messages import Attachment, Text
from gateway.engine.ports import PREPARE_SECONDS, Prepared, Preparing
from gateway.engine.steps.apart import apart
from gateway.intake.material.files import MOST_BYTES, File, taken, unread

__all__ = ["attached"]

MOST_FILES = 20
TOO_LONG = f"it has more than {MOST_BYTES >> 20} MiB"
PATIENCE = PREPARE_SECONDS * 2 / 3
"""Seconds. What is left is for keeping the files."""


class Books(Protocol):
    """What of a channel's context is needed."""

    @property
    def ledger(self) -> Ledger: ...

    @property
    def clock(self) -> Clock: ...


async def attached(asked: Preparing, books: Books) -> Prepared:
    """What goes before the message. Never fails: what can't be read is named, with the reason."""
    files = cast("list[Sequence[object]]", asked.fetch.get("files") or [])
    mail = str(asked.fetch.get("content"))
    before: list[Text | Attachment] = []
    wanted = [str(path) for path, _, _, size, why in files[:MOST_FILES] if not why and _fits(size)]
    bodies, absent = await _read(mail, wanted, books)
    for path, name, media_type, size, why in files[:MOST_FILES]:
        told, body = str(name), bodies.get(str(path))
        if body is None:
            reason = str(why).removesuffix(".") or (absent if _fits(size) else TOO_LONG)
            before.append(unread(told, reason))
            continue
        file = File(origin=f"email:{mail}:{path}", name=told, media_type=str(media_type), body=body)
        before += await taken(file, books.ledger, asked.turn_id, books.clock.now())
    if len(files) > MOST_FILES:
        before.append(unread(f"and {len(files) - MOST_FILES} more", "they are too many"))
    return Prepared(before=tuple(before))


async def _read(mail: str, wanted: Sequence[str], books: Books) -> tuple[dict[str, bytes], str]:
    """Those that were read, and why another wasn't."""
    if not wanted:
        return {}, ""
    try:
        async with asyncio.timeout(PATIENCE):
            handed = await Shelf(books.ledger, books.clock).find(mail)
            if handed is None:
                return {}, "its mail can't be read now"
            found = await apart(partial(contents, handed.raw, wanted), "email-files", gives_up=True)
    except StoreUnavailableError:
        return {}, "its mail can't be read now"
    except TimeoutError:
        return {}, "that takes too long"
    return found, "it isn't in the mail"


def _fits(size: object) -> bool:
    return cast("int", size) <= MOST_BYTES
