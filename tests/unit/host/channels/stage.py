"""A whole host around channels, on a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from channels.protocol import Channel
from gateway.engine.runtime import Runtime
from gateway.host.api import Api
from gateway.host.channels.context import Context, Surroundings
from gateway.host.channels.equipping import preparers, with_tools
from gateway.host.channels.registry import Registry
from gateway.host.channels.waking import WakingSink
from gateway.host.channels.ways import Ways
from gateway.host.metrics import MeteredSink, Metrics
from gateway.sinks.local import LocalSink
from gateway.stores import open_store
from gateway.testing.time import ScaledTime
from tests.support.http import Client, gateway
from tests.unit.host.world import World, agent_for


@dataclass(frozen=True, slots=True)
class Stage:
    client: Client
    api: Api
    ways: Ways
    ctx: Context
    world: World


@asynccontextmanager
async def staged(
    channels: Sequence[Channel], store: str = "memory://", speed: float = 50.0
) -> AsyncGenerator[Stage, None]:
    """Everything runs; what waits for the outside does so ``speed`` times as fast."""
    found = {channel.source: channel for channel in channels}
    world, metrics, time = World(), Metrics(), ScaledTime(speed)
    registry = Registry(channels=found, missing={"slack": ("SLACK_BOT_TOKEN",)})
    opened = await asyncio.to_thread(open_store, store)
    await opened.open()
    agent = with_tools(agent_for(world), found)
    runtime = Runtime(
        {agent.name: agent},
        opened,
        WakingSink(MeteredSink(LocalSink(), metrics)),
        preparers=preparers(found),
    )
    around = Surroundings(registry=registry, metrics=metrics, waits=time)
    ways = Ways(runtime, agent.name, around)
    api = Api(runtime=runtime, agent=agent.name, registry=registry, metrics=metrics)
    try:
        async with runtime:
            await ways.start()
            try:
                async with gateway(api) as client:
                    yield Stage(client, api, ways, Context(runtime, agent.name, registry), world)
            finally:
                world.gate.set()
                await ways.stop()
    finally:
        await opened.close()
