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
import dataclasses
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal, Protocol, cast

from aiohttp import web

from gateway.engine.agent import AgentDef
from gateway.engine.decisions.keys import new_turn_id
from gateway.engine.errors import ConfigError, DeliverUnsupportedError
from gateway.engine.events import TurnEvent
from gateway.engine.kinds import Json
from gateway.engine.limits import Limits
from gateway.engine.outcomes import Grant, Reset, Started, TurnInput, TurnResult
from gateway.engine.ports import SessionStore, Subscription
from gateway.engine.runtime import Runtime
from gateway.engine.session import Session
from gateway.host.api import Api
from gateway.host.app import add_routes
from gateway.host.routes import channel_routes, turn_routes
from gateway.host.stream import at_rest
from gateway.sinks.local import LocalSink
from gateway.stores import open_store
from gateway.values import ApiToken

log = logging.getLogger("gateway.host")
GRACE = 20.0

Replace = bool | Literal["speaker"]
WhenSuspended = Literal["raise", "queue"]
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
    runtime = Runtime(agents, opened, LocalSink(), limits=limits, max_sessions=max_sessions)
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


def mount_agent(
    app: web.Application,
    agent: Defines,
    runtime: Runtime,
    chat_path: str = "/message",
    *,
    tokens: tuple[ApiToken, ...] = (),
    close_store: bool = True,
) -> Mounted:
    """Add an agent's routes to an application, and its runtime to the application's life.

    Without ``tokens`` only this machine may call. Raises ``ConfigError`` when the runtime doesn't
    run this agent; warns when it runs it with other tools.
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
    api = Api(
        runtime=runtime,
        agent=agent.name,
        tokens=tokens,
        chat_path=chat_path,
        started_at=runtime.clock.now(),
    )
    first = _first_mount(app, runtime)
    routes = turn_routes(api)
    # What is addressed by agent and session serves every agent of the runtime, mounted once.
    add_routes(app, api, [*routes, *channel_routes()] if first else routes[:1])
    _hang_on(app, api, runs=first, close_store=close_store)
    return Mounted(api, Context(runtime, agent.name))


def _first_mount(app: web.Application, runtime: Runtime) -> bool:
    """Several agents of one runtime may be mounted in one application; it is started once."""
    known = app.get(_MOUNTED)
    if known is None:
        known = app[_MOUNTED] = set[int]()
    first = id(runtime) not in known
    known.add(id(runtime))
    return first


def _hang_on(app: web.Application, api: Api, *, runs: bool, close_store: bool) -> None:
    async def start(_: web.Application) -> None:
        await api.runtime.start()

    async def stop(_: web.Application) -> None:
        """Before the application waits for its handlers: streams would keep it waiting."""
        api.drain()
        if runs:
            await api.runtime.stop(GRACE)
        api.end_streams()

    async def close(_: web.Application) -> None:
        await api.runtime.store.close()

    if runs:
        app.on_startup.append(start)
    app.on_shutdown.append(stop)
    if runs and close_store:
        app.on_cleanup.append(close)


class Context:
    """Drives an agent's turns from code; what a channel works with."""

    def __init__(self, runtime: Runtime, agent: str) -> None:
        self._runtime = runtime
        self._agent = agent

    def session(self, key: str) -> Session:
        return self._runtime.session(self._agent, key)

    async def run(
        self,
        message: str | TurnInput,
        *,
        session: str,
        replace: Replace = False,
        when_suspended: WhenSuspended = "raise",
    ) -> TurnResult:
        """Start a turn and wait until it rests: ended, or parked."""
        started = await self.run_detached(
            message, session=session, replace=replace, when_suspended=when_suspended
        )
        return await self.session(session).result(started.turn_id)

    async def run_detached(
        self,
        message: str | TurnInput,
        *,
        session: str,
        replace: Replace = False,
        when_suspended: WhenSuspended = "raise",
    ) -> Started:
        """Start a turn; it is committed when this returns, and runs whoever watches."""
        given = TurnInput(message=message) if isinstance(message, str) else message
        return await self.session(session).start(
            given, replace=replace, when_suspended=when_suspended
        )

    async def run_stream(
        self,
        message: str | TurnInput,
        *,
        session: str,
        replace: Replace = False,
        when_suspended: WhenSuspended = "raise",
    ) -> AsyncIterator[TurnEvent]:
        """Start a turn and yield its events up to the terminal one or an open request."""
        given = TurnInput(message=message) if isinstance(message, str) else message
        turn_id = given.turn_id or new_turn_id()
        async with self.session(session).listen(turn_id) as live:
            started = await self.run_detached(
                dataclasses.replace(given, turn_id=turn_id),
                session=session,
                replace=replace,
                when_suspended=when_suspended,
            )
            heard = live if started.created else None
            async for event in self._follow(session, turn_id, after=0, live=heard):
                yield event

    async def resume_stream(  # noqa: PLR0913 - an answer has these parts
        self,
        turn_id: str,
        input_id: str,
        value: Json,
        *,
        session: str,
        by: str | None = None,
        granted: Grant | None = None,
        digest: str | None = None,
    ) -> AsyncIterator[TurnEvent]:
        """Answer what a turn waits on and yield what comes of it."""
        opened = self.session(session)
        seen = (await opened.snapshot(turn_id)).last_seq
        answered = await opened.resume(
            turn_id, input_id, value, by=by, granted=granted, digest=digest
        )
        if answered.decided:
            async for event in self._follow(session, turn_id, after=seen):
                yield event

    async def _follow(
        self, key: str, turn_id: str, after: int, live: Subscription | None = None
    ) -> AsyncIterator[TurnEvent]:
        opened = self.session(key)
        last = at_rest(opened, turn_id)
        events = opened.observe(turn_id, after=after, live=live)
        async with aclosing(cast("AsyncGenerator[TurnEvent, None]", events)) as source:
            async for event in source:
                yield event
                if await last(event):
                    return

    async def run_delivered(self, message: str | TurnInput, *, session: str) -> Started:
        """Refused before anything starts: an embedded gateway mounts no channel that renders."""
        raise DeliverUnsupportedError(
            "this host has no channel that could deliver; nothing was started",
            fix="use run_stream and render its events",
        )

    async def resume_delivered(self, turn_id: str, input_id: str, value: Json) -> None:
        """Refused before the answer is applied."""
        raise DeliverUnsupportedError(
            "this host has no channel that could deliver; nothing was applied",
            fix="use resume_stream and render its events",
        )

    async def reset_session(self, session: str) -> Reset:
        return await self.session(session).reset()
