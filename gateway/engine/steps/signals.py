"""Control signals of a turn.

They derive from ``BaseException`` so that a tool's ``except Exception`` can't eat them, and are
caught in one place each: ``Parked`` where the call runs, the others in the turn's loop.
"""

from __future__ import annotations

from typing import Self

from gateway.engine.kinds import CancelReason, JsonObject


class TurnSignal(BaseException):
    """Base of the signals; never let it pass out of the engine."""


class Parked(TurnSignal):
    """The call waits for a person. Let it propagate: whatever you do with it, the turn parks."""

    def __init__(self) -> None:
        super().__init__(
            "this turn is parked for a person's input; code after request_input() runs when the"
            " answer is in and the tool starts again from the top. Don't catch this."
        )


class TurnStopped(TurnSignal):
    """The loop obeys a stop at a boundary."""


class Cancelled(TurnStopped):
    def __init__(self, reason: CancelReason) -> None:
        super().__init__(reason)
        self.reason: CancelReason = reason


class TimedOut(TurnStopped):
    def __init__(self, deadline: str) -> None:
        super().__init__(deadline)
        self.deadline = deadline


class Drained(TurnStopped):
    """The process is going: leave the turn at its checkpoint for the next one."""


class TurnFailure(Exception):
    """The turn can't go on. ``phase`` and ``step`` say where, when a step was in flight."""

    def __init__(self, message: str, *, phase: str | None = None, step: str | None = None) -> None:
        super().__init__(message)
        self.phase = phase
        self.step = step

    @classmethod
    def of(cls, error: JsonObject) -> Self:
        """As the error record of a turn tells it."""
        phase, step = error.get("phase"), error.get("step")
        return cls(
            str(error.get("message", "")),
            phase=None if phase is None else str(phase),
            step=None if step is None else str(step),
        )
