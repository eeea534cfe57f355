"""The gateway inside somebody else's aiohttp application.

::

    runtime = await create_runtime({agent.name: agent}, store="sqlite:///june.db")
    mounted = mount_agent(app, agent, runtime, chat_path="/message")
    result = await mounted.ctx.run("hello", session="s1")

Routes of the gateway are added to the application's own; every other path stays the application's.
Starting and stopping hang on its life.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from aiohttp import web

from channels.protocol import Channel, Sealer
from gateway.definition import DirectoryAgent, Schedule, Target
from gateway.engine.agent import AgentDef
from gateway.engine.errors import ConfigError
from gateway.engine.limits import Limits
from gateway.engine.ports import SessionStore
from gateway.engine.runtime import Runtime
from gateway.host.api import Api
from gateway.host.app import add_routes
from gateway.host.channels.context import Context, Surroundings
from gateway.host.channels.equipping import preparers, with_tools
from gateway.host.channels.registry import Registry
from gateway.host.channels.waking import WakingSink
from gateway.host.channels.ways import Ways
from gateway.host.routes import channel_routes, turn_routes
from gateway.schedules.book import Book
from gateway.schedules.runner import Runner
from gateway.schedules.words import introduced
from gateway.sinks.local import LocalSink
from gateway.stores import open_store
from gateway.values import ApiToken

log = logging.getLogger("gateway.host")
GRACE = 20.0

_MOUNTED = web.AppKey("gateway_runtimes", set[int])


async def create_runtime(
    agents: Mapping[str, AgentDef],
    *,
    store: str | SessionStore = "memory://",
    max_sessions: float = 1000,
    limits: Limits | None = None,
) -> Runtime:
    """A runtime on an open store, not started yet: ``mount_agent`` or ``async with`` does that.

    ``store`` is a URL or a store that is open already. Raises ``ValueError`` for a cap that can't be.
    """
    opened = await asyncio.to_thread(open_store, store) if isinstance(store, str) else store
    sink = WakingSink(LocalSink())
    runtime = Runtime(agents, opened, sink, limits=limits, max_sessions=max_sessions)
    if isinstance(store, str):
        await opened.open()
    return runtime


class Defines(Protocol):
    """What of an agent's definition matters here: its name and its tools' names."""

    @property
    def name(self) -> str: ...

    @property
    def tools(self) -> Mapping[str, object]: ...


@dataclass(frozen=True, slots=True)
class Mounted:
    """What was mounted: ``ctx`` drives turns from code."""

    api: Api
    ctx: Context


def mount_agent(  # noqa: PLR0913 - what an application has and wants, most of it by name
    app: web.Application,
    agent: Defines,
    runtime: Runtime,
    chat_path: str = "/message",
    *,
    tokens: tuple[ApiToken, ...] = (),
    channels: Sequence[Channel] = (),
    public_url: str | None = None,
    sealer: Sealer | None = None,
    schedules: bool = True,
    close_store: bool = True,
) -> Mounted:
    """Add an agent's routes to an application, and its runtime to the application's life.

    Without ``tokens`` only this machine may call. ``channels`` get their webhooks below
    ``/channels``, and what they need of ``public_url`` and ``sealer``
    (``gateway.sealing.make_sealer``). The ``schedules`` of an agent that was read from a directory run
    here; of one that speaks on a channel that isn't mounted it warns. Raises ``ConfigError`` when the
    runtime doesn't run this agent, or the channels come too late; warns when it runs it with other tools.
    """
    running = runtime.agents.get(agent.name)
    if running is None:
        raise ConfigError(
            f"the runtime doesn't run the agent {agent.name!r}",
            fix=f"create_runtime({{{agent.name!r}: …}})",
        )
    if differing := sorted(set(agent.tools) ^ set(running.tools)):
        log.warning(
            "the runtime runs %s with other tools than its definition has: %s",
            agent.name,
            ", ".join(differing),
            extra={"agent": agent.name},
        )
    first = _first_mount(app, runtime)
    registry = _equipped(runtime, running, channels, first=first)
    api = Api(
        runtime=runtime,
        agent=agent.name,
        tokens=tokens,
        chat_path=chat_path,
        registry=registry,
        started_at=runtime.clock.now(),
    )
    routes = turn_routes(api)
    # What is addressed by agent and session serves every agent of the runtime, mounted once.
    add_routes(app, api, [*routes, *channel_routes()] if first else routes[:1])
    around = Surroundings(
        registry=registry, metrics=api.metrics, sealer=sealer, public_url=public_url
    )
    room = Context(runtime, agent.name, registry)
    due = _due(running, registry) if schedules else {}
    book = api.schedules = Book(runtime, agent.name, due, room) if due else None
    runner = None if book is None else Runner(book, around.waits)
    ways = Ways(runtime, agent.name, around, runner) if channels or runner else None
    _hang_on(app, api, ways, runs=first, close_store=close_store)
    return Mounted(api, room)


def _due(agent: AgentDef, registry: Registry) -> dict[str, Schedule]:
    """The schedules that can run here. To fire one whose channel is another process's to mount would take
    its tick away from that."""
    if not isinstance(agent, DirectoryAgent):
        return {}
    found: dict[str, Schedule] = {}
    for name, schedule in agent.schedules.items():
        target = schedule.target
        if not isinstance(target, Target) or target.channel in registry.channels:
            found[name] = schedule
        else:
            log.warning(
                "the schedule %s doesn't run here: it speaks on %s, and that channel isn't mounted;"
                " give it to mount_agent: channels=[…]",
                name,
                target,
                extra={"agent": agent.name},
            )
    return found


def _equipped(
    runtime: Runtime, agent: AgentDef, channels: Sequence[Channel], *, first: bool
) -> Registry:
    """The channels by name, and the runtime with what they bring: it doesn't run yet."""
    found = {channel.source: channel for channel in channels}
    if len(found) < len(channels):
        raise ConfigError(
            "two of the channels have the same source", fix="mount one channel of each source"
        )
    if channels and not first:
        raise ConfigError(
            "this application serves the runtime already, and without these channels",
            fix="give channels=… to the first mount_agent",
        )
    if channels:
        runtime.agents = {**runtime.agents, agent.name: with_tools(agent, found)}
        runtime.preparers = {**runtime.preparers, **preparers(found)}
    return Registry(channels=found)


def _first_mount(app: web.Application, runtime: Runtime) -> bool:
    """Several agents of one runtime may be mounted in one application; it is started once."""
    known = app.get(_MOUNTED)
    if known is None:
        known = app[_MOUNTED] = set[int]()
    first = id(runtime) not in known
    known.add(id(runtime))
    return first


def _hang_on(
    app: web.Application, api: Api, ways: Ways | None, *, runs: bool, close_store: bool
) -> None:
    async def start(_: web.Application) -> None:
        if runs:
            await api.runtime.start()
        if ways is not None:
            await ways.start()
        for schedule in [] if api.schedules is None else await api.schedules.rows():
            log.info("%s", introduced(schedule), extra={"agent": api.agent})

    async def stop(_: web.Application) -> None:
        """Before the application waits for its handlers: streams would keep it waiting."""
        api.drain()
        if ways is not None:
            await ways.stop()
        if runs:
            await api.runtime.stop(GRACE)
        api.end_streams()

    async def close(_: web.Application) -> None:
        await api.runtime.store.close()

    app.on_startup.append(start)
    app.on_shutdown.append(stop)
    if runs and close_store:
        app.on_cleanup.append(close)
