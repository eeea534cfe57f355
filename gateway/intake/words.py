"""What people are told about what they sent. Pure.

What is said about a request is elsewhere (``gateway.approvals.words``); an answer that was taken needs no
words, since its card shows it.
"""

from __future__ import annotations

QUEUED = "I'll come to this once the open decision in this conversation is made."
TOO_LARGE = "That message is too long for me. Send less of it, or put it into a file."
REFUSED = "I can't take this message as it is. Nothing was done; please write it anew."

UNSURE = "I couldn't check just now who you are, so nothing was done. Please try again."
UNCHECKED = (
    "Whether you may decide this couldn't be checked, so nothing was done. Please try again."
)
BROKEN = "Something went wrong on my side. Please look how it stands, and try again."
STILL_OPEN = "It is still open: please answer again."

RESET = "This conversation starts over. What was said before is kept, and I don't look at it."
NOTHING_TO_RESET = "There is no conversation of ours here yet, so there is nothing to start over."
NOT_YOURS_TO_RESET = (
    "Only members of this organisation can start this conversation over; guests can't."
)
NOT_YOURS_TO_STOP = (
    "Only whoever asked, or a member of this organisation who is no guest, can stop this."
)


def outsider(who: str | None) -> str:
    """``who`` decides instead; ``None`` where it is for whoever asked, or for one person."""
    rest = "A member has to ask for it." if who is None else f"This one is for {who} to decide."
    return f"Guests and people of other organisations can't decide here. {rest}"


def invalid(why: str) -> str:
    return f"{why[:1].upper()}{why[1:].rstrip('.')}. {STILL_OPEN}"
