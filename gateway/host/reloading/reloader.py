"""Takes the agent directory up as its author saves it.

Turns under way or parked keep the code that they began on (``Runtime.adopt``). A mistake is said where the
author looks, and the code from before goes on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from gateway.definition import DefinitionError, Loaded
from gateway.engine.errors import ConfigError
from gateway.engine.steps.foreign import contained
from gateway.host.channels.equipping import with_tools
from gateway.host.compose import Host, load
from gateway.host.reloading.looking import Seen, look

log = logging.getLogger("gateway.host")

LOOK_EVERY = 0.25


class Reloader:
    """For one host; ``run`` it beside the host's other work. ``taken`` is the directory as it was right
    before the host was opened; ``told`` hears of each that was taken up since."""

    def __init__(
        self,
        host: Host,
        taken: Seen,
        every: float = LOOK_EVERY,
        told: Callable[[Loaded], object] | None = None,
    ) -> None:
        self._host = host
        self._taken = taken
        self._every = every
        self._told = told

    async def run(self) -> None:
        """Until it is cancelled."""
        root = self._host.loaded.path
        shown = self._taken
        while True:
            await asyncio.sleep(self._every)
            before, shown = shown, await asyncio.to_thread(look, root)
            # Editors and checkouts write in several steps: only what has come to rest is read.
            if shown == before and shown != self._taken:
                taken, self._taken = self._taken, shown
                names = {*taken, *shown}
                await self.reload(sorted(n for n in names if taken.get(n) != shown.get(n)))

    async def reload(self, names: Sequence[str]) -> None:
        """Take the directory up as it is now. ``names``: the files that changed."""
        api = self._host.api
        try:
            with contained:
                await self._take_up()
        except Exception as error:  # whatever it is, the author corrects it and saves again
            if not isinstance(error, ConfigError):
                log.exception("the agent directory can't be loaded")
            told = (
                f"not reloaded, the code from before goes on: {one}" for one in _mistakes(error)
            )
            api.mistakes = tuple(told)
            for mistake in api.mistakes:
                log.warning("%s", mistake)
            return
        api.mistakes = ()
        channels = [name for name in names if name.startswith("channels/")]
        if taken := [name for name in names if name not in channels]:
            log.info("reloaded: %s", ", ".join(taken))
        if channels:
            log.warning("taken up at the next start: %s", ", ".join(channels))

    async def _take_up(self) -> None:
        host = self._host
        channels = host.api.registry.channels
        loaded = await asyncio.to_thread(load, host.settings)
        if wrong := loaded.misaddressed(channels):
            raise DefinitionError(wrong)
        if loaded.agent.name != host.api.agent:
            raise ConfigError(
                f"{host.api.agent} was renamed to {loaded.agent.name}, and its sessions go by its name",
                fix="start the host again",
            )
        host.runtime.adopt(with_tools(await loaded.start(), channels))
        host.runner.take(loaded.schedules)
        if self._told is not None:
            self._told(loaded)
        for warning in loaded.warnings:
            log.warning("%s", warning)


def _mistakes(error: Exception) -> tuple[str, ...]:
    if isinstance(error, DefinitionError):
        return tuple(str(problem) for problem in error.problems)
    if isinstance(error, ConfigError):
        return (f"{error}. fix: {error.fix}" if error.fix else str(error),)
    return (f"{type(error).__name__}: {error}",)
