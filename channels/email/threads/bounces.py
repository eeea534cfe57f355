"""Which letter of ours a bounce is about, where it proves that: anybody may write one.

A Message-ID of ours proves nothing, since everybody has it who was sent a copy, or an answer to it. The return
path of a letter names its delivery under a signature, and only who has the letter itself knows it. Where our
own mail server writes another return path, the report has to hold the header that we wrote: its loop mark
is signed, too, and mail programs copy it nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable

from channels.email.reading.bounce import Bounce
from channels.email.threads import places
from channels.email.writing.tokens import Keys, bounced, marks, original
from gateway.engine.ledger import Delivery, Ledger

__all__ = ["about", "rule_of"]


async def about(
    ledger: Ledger, keys: Keys, mailbox: str, failed: Bounce, named: Iterable[str]
) -> tuple[int, int] | None:
    """The delivery and its part; ``None`` for what proves nothing. ``named``: to whom the bounce came."""
    ours = [one for one in failed.message_ids if original(keys, one) is not None]
    for token in filter(None, (bounced(keys, at) for at in named)):
        row = await ledger.delivery(token[1])
        if row is not None and row.source == "email" and row.parts:
            return row.id, _part(row, mailbox, keys, ours) or row.parts[-1].n
    for one in ours:
        mark = original(keys, one)
        if mark is None or not any(marks(keys, given, mark.conversation) for given in failed.marks):
            continue
        ref = places.message(mailbox, mark.message_id)
        if (row := await ledger.shown_at("email", ref)) is not None:
            return row.id, _part(row, mailbox, keys, [one])
    return None


def rule_of(failed: Bounce, found: tuple[int, int] | None) -> str:
    """What is said of a bounce. One that says a letter failed, and not which, changes nothing."""
    return "bounce-unproven" if failed.failed and found is None else failed.rule


def _part(row: Delivery, mailbox: str, keys: Keys, ids: list[str]) -> int:
    """The part of a delivery that is one of these mails; 0 for none."""
    refs = {
        places.message(mailbox, mark.message_id)
        for one in ids
        if (mark := original(keys, one)) is not None
    }
    return next((part.n for part in row.parts if part.ref in refs), 0)
