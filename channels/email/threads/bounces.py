"""Which letter of ours a bounce is about, where it proves that: anybody may write one.

A Message-ID of ours proves nothing, since everybody has it who was sent a copy, or an answer to it. The return
path of a letter names its delivery under a signature, and only who has the letter itself knows it. Where our
own mail server writes another return path, the report has to hold the header that we wrote: its loop mark
is signed, too, and mail programs copy it nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from channels.email.reading.bounce import Bounce
from channels.email.threads import places
from channels.email.writing.tokens import Keys, Ours, bounced, marks, original
from gateway.engine.ledger import Delivery, Ledger

__all__ = ["about", "rule_of"]


async def about(
    ledger: Ledger, keys: Keys, mailbox: str, report: Bounce, named: Iterable[str]
) -> tuple[int, int] | None:
    """The delivery and its part; ``None`` for what proves nothing. ``named``: to whom the bounce came."""
    ours = [own for one in report.message_ids if (own := original(keys, one)) is not None]
    for token in filter(None, (bounced(keys, at) for at in named)):
        row = await ledger.delivery(token[1])
        if row is not None and row.source == "email" and row.parts:
            return row.id, _part(row, mailbox, ours) or row.parts[-1].n
    for own in ours:
        if not any(marks(keys, given, own.conversation) for given in report.marks):
            continue
        ref = places.message(mailbox, own.message_id)
        if (row := await ledger.shown_at("email", ref)) is not None:
            return row.id, _part(row, mailbox, [own])
    return None


def rule_of(report: Bounce, found: tuple[int, int] | None) -> str:
    """What is said of a bounce. One that says a letter failed, and not which, changes nothing."""
    return "bounce-unproven" if report.failed and found is None else report.rule


def _part(row: Delivery, mailbox: str, ours: Sequence[Ours]) -> int:
    """The part of a delivery that is one of these mails; 0 for none."""
    refs = {places.message(mailbox, one.message_id) for one in ours}
    return next((part.n for part in row.parts if part.ref in refs), 0)
