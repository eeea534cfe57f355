"""Code that an author or an application brings along: whatever it raises is an error of its own.

``SystemExit`` and ``KeyboardInterrupt`` out of a task end the event loop, and with it every other turn, so
``except Exception`` isn't enough around such code. What stops us for good passes on.
"""

from __future__ import annotations

import asyncio

from gateway.engine.steps.signals import TurnSignal

__all__ = ["passes_on"]


def passes_on(error: BaseException) -> bool:
    """Whether it is no error of the code that it came out of: this task is being ended, or a signal of
    the turn's own is on its way."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0
    return isinstance(error, TurnSignal | GeneratorExit)
