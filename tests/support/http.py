"""A gateway on a real socket, and a client that reads what it answers."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

import aiohttp
from aiohttp import web

from gateway.engine.kinds import Json, JsonObject
from gateway.host.api import Api
from gateway.host.app import HostRunner, make_app

PATIENCE = 10.0
Body = Mapping[str, object] | None


@dataclass(frozen=True, slots=True)
class Answer:
    """A response, read to its end."""

    status: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def json(self) -> JsonObject:
        value = cast("Json", json.loads(self.raw))
        assert isinstance(value, dict), value
        return value

    def rows(self, name: str) -> list[JsonObject]:
        return cast("list[JsonObject]", self.json[name])

    @property
    def code(self) -> str:
        """The stable code of a problem."""
        assert self.headers["Content-Type"] == "application/problem+json", self.raw
        assert self.json["status"] == self.status
        return str(self.json["code"])


@dataclass(frozen=True, slots=True)
class Frame:
    """One server-sent event. ``id`` is there on durable ones only."""

    event: str
    data: JsonObject
    id: int | None = None


@dataclass(slots=True)
class Stream:
    """A response whose events are read as they come. ``comments`` keeps what began with a colon."""

    response: aiohttp.ClientResponse
    comments: list[str] = field(default_factory=list[str])

    @property
    def turn_id(self) -> str:
        return self.response.headers["Turn-Id"]

    async def frames(self) -> AsyncIterator[Frame]:
        fields: dict[str, str] = {}
        async for raw in self.response.content:
            line = raw.decode().rstrip("\n")
            if line.startswith(":"):
                self.comments.append(line[1:].strip())
            elif line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif "data" in fields:
                data = cast("JsonObject", json.loads(fields["data"]))
                seq = int(fields["id"]) if "id" in fields else None
                yield Frame(fields["event"], data, seq)
                fields = {}

    async def rest(self) -> list[Frame]:
        return [frame async for frame in self.frames()]


@dataclass(slots=True)
class Client:
    """Speaks to one gateway, with one token or none."""

    url: str
    http: aiohttp.ClientSession
    token: str | None = None

    def with_token(self, token: str | None) -> Client:
        return Client(self.url, self.http, token)

    async def ask(
        self,
        method: str,
        path: str,
        body: Body = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        async with self._request(method, path, body, headers) as response:
            raw = await response.read()
            return Answer(response.status, response.headers, raw)

    async def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        return await self.ask("GET", path, headers=headers)

    async def post(
        self, path: str, body: Body = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        return await self.ask("POST", path, {} if body is None else body, headers)

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        body: Body = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncGenerator[Stream, None]:
        wanted = {"Accept": "text/event-stream", **(headers or {})}
        async with self._request(method, path, body, wanted) as response:
            assert response.status == 200, await response.text()
            assert response.headers["Content-Type"] == "text/event-stream"
            yield Stream(response)

    def _request(
        self, method: str, path: str, body: Body, headers: Mapping[str, str] | None
    ) -> aiohttp.client._RequestContextManager:
        own = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return self.http.request(
            method,
            f"{self.url}{path}",
            json=body if method == "POST" else None,
            headers={**own, **(headers or {})},
        )


@asynccontextmanager
async def on_socket(app: web.Application) -> AsyncGenerator[str, None]:
    """Serve somebody's application on a free port of this machine."""
    async with _on_socket(web.AppRunner(app, access_log=None, shutdown_timeout=1)) as url:
        yield url


@asynccontextmanager
async def _on_socket(runner: web.AppRunner) -> AsyncGenerator[str, None]:
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def connect(url: str, token: str | None = None) -> AsyncGenerator[Client, None]:
    timeout = aiohttp.ClientTimeout(total=PATIENCE)
    connector = aiohttp.TCPConnector(force_close=True)
    async with aiohttp.ClientSession(timeout=timeout, connector=connector) as http:
        yield Client(url, http, token)


@asynccontextmanager
async def gateway(api: Api, token: str | None = None) -> AsyncGenerator[Client, None]:
    """The whole host on a socket; its runtime is the caller's to run."""
    runner = HostRunner(make_app(api), shutdown_timeout=1)
    async with _on_socket(runner) as url, connect(url, token) as client:
        try:
            yield client
        finally:
            api.end_streams()
