"""When to look again at what may still sort itself out. Pure.

A reply may come in before the receipt of the post that it replies to, an edit before the message
that it changes. Both are waited for by the event's age, so a restart changes nothing.
"""

from __future__ import annotations

from gateway.engine.kinds import Millis
from gateway.engine.records.companions import DAY

LOOKS = (2, 5, 15, 60)
"""Seconds after an event came in."""
MOST_PATIENT = 60
"""Seconds between two tries of what didn't work, at most."""
GIVEN_UP = DAY
"""What couldn't be acted on for a day isn't any more."""


def next_look(since: Millis, now: Millis) -> Millis | None:
    """The next of them; ``None`` when the last one is past."""
    return next((at for s in LOOKS if (at := Millis(since + s * 1000)) > now), None)


def retry_at(attempts: int, now: Millis) -> Millis:
    """After a failure: sooner at first."""
    return Millis(now + min(MOST_PATIENT, 2 ** min(max(attempts, 1) - 1, 6)) * 1000)
