"""The emulator as a whole: a socket on loopback in front of a world, and events that leave it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp import web

from channels.slack.emulator.api import WebApi
from channels.slack.emulator.cast.scene import Scene
from channels.slack.emulator.control import mount as mount_control
from channels.slack.emulator.events.http import Http
from channels.slack.emulator.events.outlet import Outlet
from channels.slack.emulator.events.socket import Sockets
from channels.slack.emulator.guard import refuse_real
from channels.slack.emulator.limits import Limits
from channels.slack.emulator.side import mount as mount_side
from channels.slack.emulator.time import RealTime, Time
from gateway.engine.kinds import Millis
from gateway.engine.steps.tasks import Tasks

LARGEST_BODY = 8 << 20


class SlackEmulator(Scene):
    """Slack on a socket of this machine, for clients that don't know the difference.

    ::

        async with SlackEmulator(time=VirtualTime()) as slack:
            acme = slack.workspace("acme")
            june = acme.install()
            ada = acme.person("ada")
            support = acme.channel("support", [ada, june])
            await slack.connect(slack.app(), url_of_the_app_under_test)
            asked = await ada.mention(support, "@june where is order 1042?")

    ``beside`` are the settings of what runs next to it: the real provider's secrets among them are a
    reason not to start. ``mention_first`` turns a mention's two events round. Where an app remembers
    across emulators, each needs ids of its own for what happens in it: ``world.ids_after = fresh_ids()``.
    """

    def __init__(
        self,
        *,
        time: Time | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        beside: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        mention_first: bool = False,
    ) -> None:
        refuse_real(host, beside or {})
        super().__init__(time or RealTime())
        self.limits = limits or Limits()
        self.tasks = Tasks()
        self.signed_at: Callable[[], Millis] = self.time.now
        """The clock on its signatures, where the app under test has another than ``time``."""
        self._host, self._port = host, port
        self._mention_first = mention_first
        self._stack = AsyncExitStack()

    @property
    def url(self) -> str:
        return f"http://{self._host}:{self._port}"

    @property
    def api_url(self) -> str:
        """What a client takes as its base address."""
        return f"{self.url}/api/"

    # -- life --------------------------------------------------------------------------------------
    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self.tasks.close, 5.0)
            session = await stack.enter_async_context(
                aiohttp.ClientSession(
                    connector=aiohttp.TCPConnector(limit=0),  # a burst waits for nobody
                    timeout=aiohttp.ClientTimeout(total=60),
                )
            )
            http = Http(
                session=session,
                time=self.time,
                tasks=self.tasks,
                journal=self.journal,
                faults=self.faults,
                signed_at=self._signed,
            )
            sockets = Sockets(
                world=self.world,
                time=self.time,
                tasks=self.tasks,
                journal=self.journal,
                faults=self.faults,
            )
            self._outlet = Outlet(
                world=self.world,
                http=http,
                sockets=sockets,
                tasks=self.tasks,
                mention_first=self._mention_first,
            )
            runner = web.AppRunner(self._routes(sockets), access_log=None, shutdown_timeout=1.0)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            stack.push_async_callback(sockets.close)
            site = web.TCPSite(runner, self._host, self._port)
            await site.start()
            self._port = int(runner.addresses[0][1])
            self.world.base_url = self.url
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._outlet = None
        await self._stack.aclose()

    def _signed(self) -> Millis:
        return self.signed_at()

    def _routes(self, sockets: Sockets) -> web.Application:
        app = web.Application(client_max_size=LARGEST_BODY)
        api = WebApi(
            world=self.world,
            time=self.time,
            journal=self.journal,
            faults=self.faults,
            limits=self.limits,
            tasks=self.tasks,
        )
        app.router.add_route("*", "/api/{method:[^/]+}", api.handle)
        app.router.add_get("/socket/", sockets.connect)
        mount_side(app, self.world, self.authorize)
        mount_control(app, self)
        return app
