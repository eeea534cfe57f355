"""How fast a writer goes: the intervals that people see, and the rates that Slack allows.

Rates ("Rate limits" in Slack's docs and each method's tier): starting and stopping a stream 20 a minute for
each workspace, appending 100, updating and setting a status 50, posting one a second in each channel.
``BUDGETS`` stays below them. A stream lives about five minutes whatever is appended
(slackapi/python-slack-sdk#1859), so a longer answer goes on in another one before that. Times are in
milliseconds. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from channels.slack.writing import acts
from channels.slack.writing.acts import Status
from gateway.engine.kinds import Millis

BUDGETS: Mapping[str, tuple[float, int]] = {
    acts.START: (18.0, 6),
    acts.APPEND: (90.0, 8),
    acts.STOP: (18.0, 6),
    acts.POST: (60.0, 2),
    acts.UPDATE: (45.0, 4),
    acts.DELETE: (45.0, 4),
    acts.STATUS: (45.0, 4),
    acts.OLD_STATUS: (45.0, 4),
    acts.UPLOAD: (90.0, 4),
    acts.SHARE: (90.0, 4),
}
"""Calls a minute, and how many at once, by method."""

APPEND_EVERY = 1_000
UPDATE_EVERY = 3_000
REWRITE_AFTER = 10_000
"""How long words that were taken back stay on the screen while others are being written."""
TURN_OVER = 240_000
"""From this age on a stream ends where a block does."""
TURN_OVER_ANYWHERE = 270_000
LOOK_EVERY = 2_000
STATUS_EVERY = 90_000
"""A status of the older kind goes away by itself after two minutes."""
LONGEST_WAIT = 3.0
"""Seconds that a place among those being sent is kept for a call that isn't within its budget yet."""
OUT_OF_STEP = 500
"""Those who wait for the same budget wake this far apart: it has room for one of them, and all would wake in
the same moment to find that out."""
PATIENCE = 60.0
"""Seconds. A method that won't be allowed within them is done without."""
REFUSED_FOR = 600.0
"""Seconds for which a place that refused streams or statuses isn't asked again."""
STATUS_TRIES = 3
"""Of a delivery. Then its thread goes on without being said to be at work: a card may be next in the lane."""

Budget = Callable[[str], float]
"""Seconds until a method may be called; 0 for now."""


GOLDEN = (5**0.5 - 1) / 2


def phase(number: int) -> float:
    """From 0 to 1, far apart for numbers that follow each other."""
    return number * GOLDEN % 1


@dataclass(slots=True)
class Tempo:
    """When a writer did what last, by its own memory: after a restart it may do it at once."""

    touched: dict[int, Millis] = field(default_factory=dict[int, Millis])
    """By part."""
    begun: Millis = Millis(0)
    looked: Millis = Millis(0)
    status: Status | None = None
    """What the session shows; ``None``: not known."""
    status_at: Millis = Millis(0)
    asked: bool = False
    """A status was sent and not confirmed: it may be shown all the same."""
    unnamed: bool = False
    """A status was refused that would have named its session."""
    shut: bool = False
    """A status was refused for a reason that nothing gets past."""

    def since(self, part: int, every: int) -> Millis:
        """The next moment for a part that is touched only so often."""
        return Millis(self.touched.get(part, Millis(-every)) + every)
