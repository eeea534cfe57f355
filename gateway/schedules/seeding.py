"""What a schedule asks, where that takes code: an author's function, which may fail in any way or hang."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from datetime import datetime

from gateway.definition.author import SeedFunction
from gateway.engine.errors import GatewayError
from gateway.engine.steps.apart import apart
from gateway.engine.steps.foreign import passes_on

SEED_SECONDS = 60.0
"""How long a seed function may take."""

_hanging: set[int] = set()
"""The ids of functions that took longer and haven't come back: their threads keep them."""


class SeedError(GatewayError):
    """The function that says what a schedule asks didn't."""

    status = 502
    code = "seed_failed"


async def asked(seed: SeedFunction, at: datetime, services: object) -> str | None:
    """What it says; ``None``: there is nothing to ask. Raises ``SeedError``, whatever it does."""
    if id(seed) in _hanging:
        raise SeedError(
            "its seed function still hangs since an earlier run",
            fix="give its calls a time limit, and start the host again",
        )
    limit = asyncio.timeout(SEED_SECONDS)
    try:
        async with limit:
            made = await _apart(seed, lambda: seed(at=at, services=services))
            found = await made if inspect.isawaitable(made) else made
    except BaseException as error:
        if _cancelled() or passes_on(error):
            raise
        if limit.expired():
            why = f"its seed function took longer than {SEED_SECONDS:.0f} s"
            raise SeedError(why) from error
        # Its message may hold what somebody wrote.
        raise SeedError(f"its seed function raised {type(error).__name__}") from error
    if found is None or (isinstance(found, str) and found.strip()):
        return found
    raise SeedError("its seed function returned no text", fix="return a text, or None for nothing")


async def _apart(seed: SeedFunction, call: Callable[[], object]) -> object:
    """Beside all else, since it may take its time."""
    back = False

    def ended() -> None:
        nonlocal back
        back = True
        _hanging.discard(id(seed))

    try:
        return await apart(call, "gateway-seed", ended=ended)
    except asyncio.CancelledError:
        if not back:
            _hanging.add(id(seed))
        raise


def _cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
