"""What an author decides about mail: whom it believes, whom it answers, and how often.

Budgets are what really ends a loop: two programs that answer each other look like people (RFC 3834 asks both
to mark their mail, and many don't). Pure.
"""

from __future__ import annotations

import hashlib
from typing import Literal

from channels.contract import Budget
from channels.email.identity.domains import organisation
from channels.email.identity.recipients import bare
from gateway.engine.kinds import Millis
from gateway.engine.struct import struct

__all__ = ["DAY", "EmailRules", "budgets"]

HOUR = Millis(3_600_000)
DAY = Millis(24 * HOUR)
SHORT = 30
"""Characters. A person says "thank you" twice in a day; nobody writes a paragraph twice."""


@struct(frozen=True, slots=True, kw_only=True)
class EmailRules:
    """``per_thread`` mails of one sender in one conversation are answered in an hour, ``per_sender`` in a day,
    ``per_domain`` of all senders of one organisation's domains in a day, ``per_inbox`` of all together whom nobody
    vouches for in an hour. ``colleagues`` are domains whose people take a conversation over by answering in it.
    ``machines`` are addresses whose automated mail is read and never answered. ``unattested``: what becomes of
    mail whose author nobody vouches for."""

    per_thread: int = 6
    per_sender: int = 20
    per_domain: int = 500
    per_inbox: int = 100
    colleagues: frozenset[str] = frozenset()
    machines: frozenset[str] = frozenset()
    unattested: Literal["answer", "hold"] = "answer"


def budgets(  # noqa: PLR0913 - what a mail is counted by
    rules: EmailRules,
    mailbox: str,
    conversation: str,
    address: str,
    text: str,
    *,
    vouched: bool,
    begins: bool,
) -> tuple[Budget, ...]:
    """What a mail of this sender counts against. ``vouched``: their domain or our token speaks for them.
    Others, who may be anybody under this name, spend budgets of their own and not this person's; names cost
    nothing, so there is one for all of them together. Who goes on in a conversation (not ``begins``) isn't
    held for what others of the same provider write."""
    home = f"email:{mailbox}" if vouched else f"email:{mailbox}:unvouched"
    address = bare(address)
    host = address.rpartition("@")[2]
    domain = organisation(host) or host
    counted = [
        Budget(key=f"{home}:thread:{conversation}:{address}", most=rules.per_thread, window=HOUR),
        Budget(key=f"{home}:sender:{address}", most=rules.per_sender, window=DAY),
    ]
    if begins:
        counted.append(Budget(key=f"{home}:domain:{domain}", most=rules.per_domain, window=DAY))
    if not vouched:
        counted.append(Budget(key=f"{home}:inbox", most=rules.per_inbox, window=HOUR))
    said = " ".join(text.split())
    if len(said) >= SHORT:
        same = hashlib.sha256(said.encode(errors="replace")).hexdigest()[:32]
        counted.append(Budget(key=f"{home}:same:{address}:{same}", most=1, window=DAY))
    return tuple(counted)
