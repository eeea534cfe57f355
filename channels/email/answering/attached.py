"""The files of a mail, read from its bytes when a turn begins."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

from channels.email.mime.read import content
from channels.email.threads.shelf import Shelf
from channels.protocol import ChannelContext
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.messages import Attachment, Text
from gateway.engine.ports import Prepared, Preparing
from gateway.intake.material.files import MOST_BYTES, File, taken, unread

__all__ = ["attached"]

MOST_FILES = 20
TOO_LONG = f"it has more than {MOST_BYTES >> 20} MiB"


async def attached(asked: Preparing, ctx: ChannelContext) -> Prepared:
    """What goes before the message. Never fails: what can't be read is named, with the reason."""
    files = cast("list[Sequence[object]]", asked.fetch.get("files") or [])
    mail = str(asked.fetch.get("content"))
    before: list[Text | Attachment] = []
    try:
        handed = await Shelf(ctx.ledger, ctx.clock).find(mail)
    except StoreUnavailableError:
        handed = None
    for path, name, media_type, size, why in files[:MOST_FILES]:
        told = str(name)
        if why or handed is None or cast("int", size) > MOST_BYTES:
            absent = "its mail can't be read now" if handed is None else TOO_LONG
            before.append(unread(told, str(why).removesuffix(".") or absent))
            continue
        body = await asyncio.to_thread(content, handed.raw, str(path))
        if body is None:
            before.append(unread(told, "it isn't in the mail"))
            continue
        file = File(origin=f"email:{mail}:{path}", name=told, media_type=str(media_type), body=body)
        before += await taken(file, ctx.ledger, asked.turn_id, ctx.clock.now())
    if len(files) > MOST_FILES:
        before.append(unread(f"and {len(files) - MOST_FILES} more", "they are too many"))
    return Prepared(before=tuple(before))
