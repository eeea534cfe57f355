"""What can't go on although the store is there: it is told once, and tried again until it goes on by itself.

Most of it passes, as an outage does. A row that is damaged, or that another release wrote, is for somebody to
mend, and tried ever less often.
"""

from __future__ import annotations

import logging

from gateway.engine.errors import GatewayError

log = logging.getLogger("gateway.engine")

FIRST_PAUSE = 0.4
LONGER_PAUSE = 10.0
LONGEST_PAUSE = 300.0
"""Seconds between two tries: at first, of what may pass, and of what somebody has to mend."""
MEND = "mend what is stored of it, or restore it from a backup"


class Unreadable(Exception):
    """Rows of a turn can't be read."""

    def __init__(self, why: Exception) -> None:
        super().__init__(str(why))
        self.why = why


class Stall:
    """Of one thing, which ``what`` names in the log."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._why: str | None = None
        self._tries = 0

    def met(self, error: BaseException, longest: float = LONGER_PAUSE) -> float:
        """Seconds until the next try. Why is told where it wasn't yet."""
        pause = min(longest, FIRST_PAUSE * 2.0 ** min(self._tries, 16))
        self._tries += 1
        ours = isinstance(error, GatewayError)
        why = str(error) if ours else type(error).__name__  # another's words may be anybody's
        if why != self._why:
            self._why = why
            log.error(
                "%s can't go on: %s. Nothing of it is lost, and what comes for it is kept. Fix: %s; it"
                " then goes on by itself, within %.0f s",
                self._what,
                why,
                (isinstance(error, GatewayError) and error.fix) or MEND,
                longest,
                exc_info=None if ours else error,
            )
        return pause

    def over(self) -> None:
        if self._why is not None:
            log.info("%s goes on", self._what)
        self._why, self._tries = None, 0
