"""What a schedule asks, where that takes code: an author's function, which may fail in any way or hang."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from gateway.definition.author import SeedFunction
from gateway.engine.errors import GatewayError

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
    except (Exception, SystemExit, asyncio.CancelledError) as error:
        if _cancelled():
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
    """In a thread of its own, since it may take its time: one that never comes back has taken none
    of those that others share, and the process ends without it."""
    loop = asyncio.get_running_loop()
    came: asyncio.Future[tuple[object, BaseException | None]] = loop.create_future()

    def tell(made: object, error: BaseException | None) -> None:
        _hanging.discard(id(seed))
        if not came.done():
            came.set_result((made, error))

    def work() -> None:
        made, failed = None, None
        try:
            made = call()
        except BaseException as error:  # noqa: BLE001 - its caller says what became of it
            failed = error
        with suppress(RuntimeError):  # the process has stopped meanwhile
            loop.call_soon_threadsafe(tell, made, failed)

    threading.Thread(target=work, name="gateway-seed", daemon=True).start()
    try:
        made, error = await came
    except asyncio.CancelledError:
        _hanging.add(id(seed))
        raise
    if error is not None:
        raise error
    return made


def _cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
