"""A whole gateway in this process on a database of its own, which can stop and come back."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from gateway.config import Settings
from gateway.engine.kinds import SessionRef
from gateway.host.app import make_app
from gateway.host.compose import Host, open_host
from gateway.testing.time import ScaledTime
from gateway.values import ApiToken, Secret
from tests.support.http import Client, connect, on_socket

AGENT = Path(__file__).parents[1] / "agent"
SPEED = 12.0
"""A sender's lease goes by this clock and the database's by the machine's: who loses one to a slow machine
waits for the other. So it isn't set as fast as it could be."""
PEOPLE = ("ada", "lead", "second", "stranger", "guest", "partner", "operator")
TOKENS = tuple(ApiToken(name, Secret(f"token-of-{name}")) for name in PEOPLE)


@dataclass(slots=True)
class House:
    state: Path
    env: Mapping[str, str]
    time: ScaledTime = field(default_factory=lambda: ScaledTime(SPEED))
    url: str = ""
    _host: Host | None = None
    _client: Client | None = None
    _before: list[str] = field(default_factory=list[str])
    _open: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def database(self) -> Path:
        return self.state / "gateway.db"

    async def start(self) -> None:
        read = {
            **self.env,
            "GATEWAY_STATE": str(self.state),
            "GATEWAY_AGENT": str(AGENT),
            "DATABASE_URL": f"sqlite:///{self.database}",
        }
        settings = Settings.load(read, toml_path=None)
        self._host = await self._open.enter_async_context(
            open_host(settings, tokens=TOKENS, works=True, clock=self.time.clock, waits=self.time)
        )
        self._let_hear(self._host)
        self.url = await self._open.enter_async_context(on_socket(make_app(self._host.api)))
        self._client = await self._open.enter_async_context(connect(self.url))

    def _let_hear(self, host: Host) -> None:
        def heard(session: str) -> bool:
            return host.runtime.sink.watched(SessionRef("june", session))

        setattr(self._scene, "heard", heard)  # noqa: B010 - loaded privately

    async def stop(self) -> None:
        if self._host is not None:
            self.gate.set()
            self._before = self.ran
            self._host.api.end_streams()
            await self._host.stop(grace=1.0)
        self._host = None
        await self._open.aclose()

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    def as_(self, who: str) -> Client:
        """The API with this person's token."""
        assert self._client is not None, "the gateway is down"
        return self._client.with_token(f"token-of-{who}")

    # -- the agent's own ---------------------------------------------------------------------------
    @property
    def _scene(self) -> object:
        assert self._host is not None, "the gateway is down"
        return self._host.runtime.agents["june"].services

    @property
    def gate(self) -> asyncio.Event:
        return cast("asyncio.Event", getattr(self._scene, "gate"))  # noqa: B009 - loaded privately

    @property
    def ran(self) -> list[str]:
        now = [] if self._host is None else cast("list[str]", getattr(self._scene, "ran"))  # noqa: B009
        return [*self._before, *now]

    @property
    def halted(self) -> bool:
        """An answer stands still in its middle."""
        return bool(getattr(self._scene, "halted"))  # noqa: B009 - loaded privately

    # -- the store ---------------------------------------------------------------------------------
    @asynccontextmanager
    async def shut(self) -> AsyncGenerator[None]:
        """Nothing can be committed meanwhile: another program writes to the same database."""
        with closing(
            sqlite3.connect(
                self.database, isolation_level=None, timeout=10, check_same_thread=False
            )
        ) as other:
            await asyncio.to_thread(other.execute, "BEGIN IMMEDIATE")
            try:
                yield
            finally:
                await asyncio.to_thread(other.execute, "ROLLBACK")


@asynccontextmanager
async def house(state: Path, env: Mapping[str, str], time: ScaledTime) -> AsyncGenerator[House]:
    made = House(state, env, time)
    await made.start()
    try:
        yield made
    finally:
        await made.stop()
