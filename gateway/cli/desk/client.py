"""HTTP to a host: JSON in and out, problems as errors, events by server-sent events.

A frame is ``event: <type>``, ``data: <one JSON object>`` and, on durable events, ``id: <seq>``;
lines that begin with a colon are heartbeats.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Self, cast
from urllib.parse import quote

import aiohttp

from gateway.cli.problem import Problem
from gateway.engine.kinds import Json, JsonObject

SILENCE = 45.0
"""Seconds without a byte (heartbeats come every 15) after which a stream counts as lost."""


class Lost(Problem):
    """The host isn't there, or isn't there any more. ``arrived``: what was sent may have reached it
    all the same, so only what may come twice is sent again."""

    arrived = True

    def __init__(self, url: str, error: BaseException) -> None:
        reason = str(error) or type(error).__name__
        super().__init__(
            "unreachable", f"no answer from the host at {url} ({reason})", fix="gateway serve"
        )
        self.arrived = not isinstance(error, aiohttp.ClientConnectorError)


class Stranger(Lost):
    """Whoever answers doesn't know our token: tokens are made at each start, so it is most likely
    the host's next one."""

    arrived = False

    def __init__(self, url: str) -> None:
        Problem.__init__(
            self,
            "unauthenticated",
            f"the host at {url} doesn't take the token of this state directory",
            fix="run this as the user who runs the host, in the same folder",
            status=401,
        )


class Client:
    """One host, one token. Use as an async context manager."""

    def __init__(self, url: str, token: str | None, *, timeout: float = 30.0) -> None:
        self.url = ""
        self._token: dict[str, str] = {}
        self.move(url, token)
        self._timeout = timeout
        self._http: aiohttp.ClientSession | None = None

    def move(self, url: str, token: str | None) -> None:
        """The host started again: elsewhere, and with another token."""
        self.url = url.rstrip("/")
        self._token = {"Authorization": f"Bearer {token}"} if token else {}

    async def __aenter__(self) -> Self:
        # Not through a proxy of the environment: the host is this machine's own.
        self._http = aiohttp.ClientSession(trust_env=False)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._http is not None:
            await self._http.close()

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> Json:
        return (await self.request("GET", path, query=query))[1]

    async def post(
        self, path: str, body: JsonObject, query: Mapping[str, str] | None = None
    ) -> Json:
        return (await self.request("POST", path, body=body, query=query))[1]

    async def download(self, path: str) -> bytes:
        """What isn't JSON."""
        limit = aiohttp.ClientTimeout(total=self._timeout)
        try:
            async with self._session.get(
                self.url + path, timeout=limit, headers=self._token
            ) as response:
                raw = await response.read()
                if response.status >= 400:
                    raise self._problem(response.status, _json(raw))
                return raw
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
            raise Lost(self.url, error) from error

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: JsonObject | None = None,
        query: Mapping[str, str] | None = None,
        timeout: float | None = None,
        outcomes: frozenset[int] = frozenset(),
    ) -> tuple[int, Json]:
        """Status and JSON. A problem raises, unless its status is one of ``outcomes``."""
        limit = aiohttp.ClientTimeout(total=timeout or self._timeout)
        try:
            async with self._session.request(
                method,
                self.url + path,
                json=body,
                params=query,
                timeout=limit,
                headers={"Accept": "application/json", **self._token},
            ) as response:
                raw = await response.read()
                found = _json(raw)
                if response.status >= 400 and response.status not in outcomes:
                    raise self._problem(response.status, found)
                return response.status, found
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
            raise Lost(self.url, error) from error

    async def events(
        self, path: str, *, after: int = 0, body: JsonObject | None = None
    ) -> AsyncIterator[JsonObject]:
        """The events behind ``path`` after a cursor, or those that posting ``body`` there sets off.
        Ends when the host ends the stream; raises ``Lost`` when the connection breaks."""
        limit = aiohttp.ClientTimeout(total=None, sock_connect=self._timeout, sock_read=SILENCE)
        try:
            async with self._session.request(
                "GET" if body is None else "POST",
                self.url + path,
                json=body,
                params={"after": str(after)} if body is None else None,
                timeout=limit,
                headers={"Accept": "text/event-stream", **self._token},
            ) as response:
                if response.status == 204:
                    return
                if response.status >= 400:
                    raise self._problem(response.status, _json(await response.read()))
                async for item in frames(response.content.iter_any()):
                    yield item
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
            raise Lost(self.url, error) from error

    async def alive(self) -> bool:
        """Whether anybody answers there."""
        try:
            await self.request("GET", "/healthz", timeout=5)
        except Problem:
            return False
        return True

    async def knows_us(self) -> bool:
        """Whether the host takes our token; no other answer matters."""
        try:
            status, _ = await self.request("GET", "/agents", timeout=5, outcomes=_ANY)
        except Lost:
            return False
        return status != 401

    async def ready(self, patience: float) -> bool:
        """Wait until the host says it is ready."""
        end = asyncio.get_running_loop().time() + patience
        while True:
            try:
                status, _ = await self.request("GET", "/readyz", timeout=2, outcomes=_ANY)
                if status == 200:
                    return True
            except Lost:
                pass
            if asyncio.get_running_loop().time() >= end:
                return False
            await asyncio.sleep(0.03)

    def _problem(self, status: int, body: Json) -> Problem:
        """An ``application/problem+json`` as our error; an outcome's own JSON likewise."""
        if status == 401:
            return Stranger(self.url)
        found = body if isinstance(body, dict) else {}
        code = str(found.get("code") or f"http_{status}")
        what = found.get("detail") or found.get("title") or found.get("error")
        fix = str(found.get("fix") or "")
        return Problem(code, str(what or f"the host answered {status}"), fix=fix, status=status)

    @property
    def _session(self) -> aiohttp.ClientSession:
        if self._http is None:
            raise RuntimeError("Client is an async context manager; enter it first")
        return self._http


_ANY = frozenset(range(400, 600))


async def frames(chunks: AsyncIterator[bytes]) -> AsyncIterator[JsonObject]:
    """Server-sent events out of a byte stream; a frame may be as long as it likes."""
    buffer = b""
    data: list[str] = []
    async for chunk in chunks:
        *lines, buffer = (buffer + chunk).split(b"\n")
        for raw in lines:
            line = raw.rstrip(b"\r").decode("utf-8", "replace")
            if line.startswith("data:"):
                data.append(line[5:].removeprefix(" "))
            elif not line and data:
                found = _json("\n".join(data).encode())
                data = []
                if isinstance(found, dict):
                    yield found


def segment(text: str) -> str:
    """A session key or id as one path segment."""
    return quote(text, safe="")


def _json(raw: bytes) -> Json:
    try:
        return cast("Json", json.loads(raw))
    except ValueError:
        return None
