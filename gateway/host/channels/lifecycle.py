"""Starting and stopping what brings messages in and out, and keeping it up in between.

The outbox and the inbox run first, then each channel is started beside the others. What fails is tried
again, ever less often, and said meanwhile: a platform that is away, or a token that was mistyped, must
not take the API away from everybody else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Protocol

from channels.protocol import ChannelContext
from gateway.engine.errors import told
from gateway.engine.limits import Waits
from gateway.engine.steps.foreign import contained
from gateway.engine.steps.tasks import Tasks
from gateway.host.channels.registry import Registry

log = logging.getLogger("gateway.host")

FIRST_SECONDS = 3.0
START_SECONDS = 30.0
STOP_SECONDS = 5.0
"""For each channel, and for what is on its way out."""
LONGEST_WAIT = 60.0
"""Seconds between two tries, at most."""


class Worker(Protocol):
    """Something that runs until it is cancelled."""

    async def run(self) -> None: ...


def pause(failures: int) -> float:
    """Seconds before the next try."""
    return min(LONGEST_WAIT, 2.0 ** (min(failures, 10) - 1))


class Lifecycle:
    """``drain`` lets go of what is being sent, in order, within the seconds it is given."""

    def __init__(
        self,
        registry: Registry,
        context: Callable[[str], ChannelContext],
        workers: Mapping[str, Worker],
        drain: Callable[[float], Awaitable[object]],
        waits: Waits,
    ) -> None:
        self._registry = registry
        self._context = context
        self._workers = workers
        self._drain = drain
        self._waits = waits
        self._tasks = Tasks()
        self._tried: dict[str, asyncio.Event] = {}
        self.stopped = False

    async def start(self) -> None:
        """Returns once each channel was tried, or ``FIRST_SECONDS`` have passed: what a platform sends
        meanwhile it would have to send again."""
        for name, worker in self._workers.items():
            self._tasks.run(self._keep(name, worker), name)
        for source in self._registry.channels:
            tried = self._tried[source] = asyncio.Event()
            self._tasks.run(self._bring_up(source, tried), f"start of {source}")
        with suppress(TimeoutError):
            async with self._waits.timeout(FIRST_SECONDS):
                for tried in self._tried.values():
                    await tried.wait()

    async def stop(self) -> None:
        """First what is on its way out, then the connections that it goes by. Each part has its own
        bound, and what it doesn't manage is taken up by the next start. What still comes in meanwhile
        is kept, and waits for that, too."""
        if self.stopped:
            return
        self.stopped = True
        await self._bounded("draining", self._drain(STOP_SECONDS))
        await self._tasks.close(patience=2.0)
        # Also one that failed half-way may have begun something.
        for source in self._tried:
            await self._bounded(f"stopping {source}", self._registry.channels[source].stop())

    async def _bring_up(self, source: str, tried: asyncio.Event) -> None:
        channel = self._registry.channels[source]
        failures = 0
        while True:
            try:
                async with self._waits.timeout(START_SECONDS):
                    with contained:
                        await channel.start(self._context(source))
            except Exception as error:  # noqa: BLE001 - whatever it is, the host goes on
                failures += 1
                tried.set()
                await self._later(source, error, failures)
            else:
                tried.set()
                self._registry.troubles.pop(source, None)
                log.info("channel %s is up", source)
                return

    async def _keep(self, name: str, worker: Worker) -> None:
        failures = 0
        while True:
            try:
                await worker.run()
            except Exception as error:  # noqa: BLE001 - it is needed again in any case
                failures += 1
                await self._later(name, error, failures)
                self._registry.troubles.pop(name, None)
            else:
                return

    async def _later(self, name: str, error: Exception, failures: int) -> None:
        why, wait = _told(error), pause(failures)
        self._registry.troubles[name] = f"{why}; it is tried again"
        log.warning("%s is down: %s; the next try comes in %.0f s", name, why, wait)
        await self._waits.sleep(wait)

    async def _bounded(self, what: str, work: Awaitable[object]) -> None:
        try:
            async with self._waits.timeout(STOP_SECONDS + 3.0):
                with contained:
                    await work
        except Exception as error:  # noqa: BLE001 - the rest has to be stopped, too
            log.warning("%s failed: %s", what, _told(error))


def _told(error: Exception) -> str:
    return "it took too long" if isinstance(error, TimeoutError) else told(error)
