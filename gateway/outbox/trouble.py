"""What a delivery that isn't getting through says about itself, and when to give it up. Pure.

It stands in the row's ``error`` as ``<word>: <detail> (since <moment>)``, so that an operator reads how
long it has lasted, and whoever takes the row next knows it, too.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from typing_extensions import override

from gateway.engine.kinds import Millis
from gateway.engine.records.companions import DAY
from gateway.engine.struct import struct

GIVE_UP = DAY
"""How long trouble may last."""
TRIES = 8
"""How often it must have been tried since the last news: a host that was off for a weekend starts anew."""
LONGEST = 60.0
"""Seconds between two tries, at most."""

_SINCE = re.compile(r" \(since ([0-9-]+T[0-9:.]+Z)\)$")


@struct(frozen=True, slots=True)
class Trouble:
    """``word`` is stable: ``later`` (the channel asked for time), ``failed``, ``unsettled`` (our own
    faults), ``unknown`` (nobody can say whether something was sent)."""

    word: str
    detail: str
    since: Millis

    @override
    def __str__(self) -> str:
        at = datetime.fromtimestamp(self.since / 1000, UTC).isoformat(timespec="milliseconds")
        return f"{self.word}: {self.detail} (since {at.removesuffix('+00:00')}Z)"

    def over(self, now: Millis, tries: int) -> bool:
        return now - self.since >= GIVE_UP and tries >= TRIES


def trouble(before: str | None, word: str, detail: str, now: Millis) -> Trouble:
    """Trouble now, where ``before`` is what the row said until now: it began when that did."""
    return Trouble(word, detail, _since(before) or now)


def _since(error: str | None) -> Millis | None:
    found = None if error is None else _SINCE.search(error)
    if found is None:
        return None
    try:
        at = datetime.fromisoformat(found[1])
    except ValueError:
        return None
    return Millis(round(at.timestamp() * 1000))


def back_off(tries: int, luck: float) -> float:
    """Seconds until the next try, after so many; ``luck``, from 0 to 1, spreads those that failed
    together."""
    return min(LONGEST, 2.0 ** min(max(0, tries - 1), 10)) * (0.75 + luck / 4)
