"""The ways in and out of one host, put together: what comes in, what goes out, and who keeps it up."""

from __future__ import annotations

from channels.protocol import ChannelContext
from gateway.engine.runtime import Runtime
from gateway.host.channels.context import ChannelRoom, Surroundings
from gateway.host.channels.equipping import budgets
from gateway.host.channels.lifecycle import Lifecycle, Worker
from gateway.host.channels.waking import WakingSink
from gateway.intake.inbox import Inbox
from gateway.intake.receive import Intake
from gateway.outbox.pacing import Budgets
from gateway.outbox.sweep import Sweeping
from gateway.outbox.worker import Outbox


class Ways:
    """For the mounted channels of one agent, and its schedules. Start it once the runtime runs, stop
    it before that."""

    def __init__(
        self,
        runtime: Runtime,
        agent: str,
        around: Surroundings,
        schedules: Worker | None = None,
    ) -> None:
        channels = around.registry.channels
        self._runtime = runtime
        self._outbox = Outbox(
            runtime=runtime,
            channels=channels,
            context=self._room,
            owner=runtime.owner,
            waits=around.waits,
            pacer=Budgets(around.waits.monotonic, budgets(channels)),
        )
        inbox = Inbox(
            runtime=runtime,
            agent=agent,
            channels=channels,
            owner=runtime.owner,
            waits=around.waits,
        )
        self._rooms = {
            source: ChannelRoom(
                runtime,
                agent,
                source,
                Intake(runtime=runtime, agent=agent, channel=channel, wake=inbox.wake),
                self._outbox,
                around,
            )
            for source, channel in channels.items()
        }
        workers: dict[str, Worker] = {"outbox": self._outbox, "inbox": inbox} if channels else {}
        workers["retention"] = Sweeping(
            runtime.store.ledger, runtime.owner, runtime.clock, around.waits
        )
        if schedules is not None:
            workers["schedules"] = schedules
        self._lifecycle = Lifecycle(
            around.registry,
            self._room,
            workers,
            self._outbox.drain,
            around.waits,
        )
        self._registry = around.registry

    def _room(self, source: str) -> ChannelContext:
        return self._rooms[source]

    async def start(self) -> None:
        if self._registry.channels and isinstance(self._runtime.sink, WakingSink):
            self._runtime.sink.wake = self._outbox.wake
        self._registry.works = bool(self._registry.channels)
        await self._lifecycle.start()

    async def stop(self) -> None:
        """In bounded time; a second time does nothing."""
        await self._lifecycle.stop()
