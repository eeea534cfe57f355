"""Code that an author or an application brings along: whatever it raises is an error of its own.

``SystemExit`` out of a task ends the event loop, and with it every other turn, so ``except Exception`` isn't
enough around such code. What stops us for good passes on, as does Ctrl-C, which Python raises wherever it is.
"""

from __future__ import annotations

import asyncio
import logging

from gateway.engine.errors import GatewayError
from gateway.engine.ports import Model
from gateway.engine.steps.signals import TurnSignal

__all__ = ["ExitRaised", "close", "contained", "passes_on"]

log = logging.getLogger("gateway.engine")


class ExitRaised(GatewayError):
    """In place of what would have ended more than the code that raised it."""


class _Contained:
    """``with contained:`` around foreign code leaves nothing but errors to whoever catches those."""

    __slots__ = ()

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is None or isinstance(error, Exception) or passes_on(error):
            return
        told = ExitRaised(
            f"it raised {type(error).__name__}", fix="raise an error there, or return"
        )
        raise told.with_traceback(error.__traceback__) from error


contained = _Contained()


async def close(model: Model) -> None:
    """Whatever it does about that, the others are closed as well."""
    try:
        with contained:
            await model.close()
    except Exception:
        log.exception("the model adapter %s couldn't be closed", type(model).__name__)


def passes_on(error: BaseException) -> bool:
    """Whether it is no error of the code that it came out of: this task is being ended, or a signal of
    the turn's own is on its way."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0
    return isinstance(error, TurnSignal | GeneratorExit | KeyboardInterrupt)
