"""The transcript as this process last left it."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.engine.decisions.attempts import Begun
from gateway.engine.steps.attempt import Transcript


@dataclass(slots=True)
class Warm:
    """Whole while the session's epoch is ``epoch``."""

    epoch: int
    generation: int
    transcript: Transcript

    def fits(self, begun: Begun) -> bool:
        """Whether it is whole still. A parked turn is closed without an attempt, so under the same
        epoch, and its owed calls get their results all the same."""
        if (self.epoch, self.generation) != (begun.warm_epoch, begun.generation):
            return False
        return begun.opened is None or begun.opened.index == len(self.transcript.messages)
