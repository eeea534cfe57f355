"""The fake's socket: HTTP/1.1 by hand, because a test must cut and stall a stream at any byte.

Routes: ``POST /v1/messages`` (streamed or whole), ``POST /v1/messages/count_tokens``,
``GET /v1/models``, ``GET /v1/models/{id}``. A key is taken as ``Authorization: Bearer`` (what the
SDK sends since 2.0) or as ``x-api-key`` (what everything else sends).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, cast

from gateway.engine.kinds import JsonObject
from gateway.testing.fake_anthropic.canned import canned
from gateway.testing.fake_anthropic.frames import count_tokens, stream, whole
from gateway.testing.fake_anthropic.models import catalogue, model_info
from gateway.testing.fake_anthropic.params import Rejected, check_params
from gateway.testing.fake_anthropic.spec import (
    Answer,
    Refusal,
    Reply,
    Script,
    dumps,
    error_body,
    exhausted,
)
from gateway.testing.fake_anthropic.transcript import check_transcript

_MOST_BODY = 32 * 1024 * 1024
_MOST_HEAD = 64 * 1024
_TICK = 0.005
"""How often a stalled stream looks whether its reader is still there."""


@dataclass(slots=True)
class Exchange:
    """One request and what became of it."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    body: JsonObject
    connection: int
    """Which connection carried it: equal numbers, one connection."""
    status: int = 0
    rejected: str | None = None
    """Why the transcript or a parameter was refused."""
    sent: int = 0
    """Bytes of the answer's body that went out."""
    hung_up: bool = False
    """The client left before the answer was whole."""
    done: asyncio.Event = field(default_factory=asyncio.Event)


class _HungUp(Exception):
    pass


class FakeAnthropic:
    """A strict stand-in for the Anthropic API on loopback.

    ::

        async with FakeAnthropic([say("Hello."), overloaded("1")]) as fake:
            model = anthropic("claude-opus-5-5", api_key="test", base_url=fake.url)

    ``script`` is a list of answers or a function of the request's body. What the API would refuse
    is refused before the script is asked. Without a script it answers by itself (``canned``).
    """

    def __init__(
        self,
        script: Script = canned,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        key: str | None = None,
    ) -> None:
        self._script: Callable[[JsonObject], Answer] = (
            script if callable(script) else _in_order(script)
        )
        self._host = host
        self._port = port
        self._key = key
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._opened = 0
        self.requests: list[Exchange] = []

    @property
    def url(self) -> str:
        return f"http://{self._host}:{self._port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._connection, self._host, self._port, limit=_MOST_HEAD
        )
        self._port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._server is None:
            return
        self._server.close()
        for task, writer in list(self._connections.items()):
            task.cancel()
            writer.transport.abort()
        if self._connections:
            await asyncio.wait(self._connections)
        await self._server.wait_closed()

    # -- connections -------------------------------------------------------------------------------
    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        self._connections[task] = writer
        self._opened += 1
        number = self._opened
        try:
            while await self._exchange(reader, writer, number):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client is gone
        except asyncio.CancelledError:
            pass  # the server is closing; a task that ends cancelled would be reported as an error
        finally:
            self._connections.pop(task, None)
            writer.close()

    async def _exchange(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int
    ) -> bool:
        """Read one request and answer it; whether the connection may carry another."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:] if line)
        }
        try:
            method, target, _ = head[0].split(" ", 2)
            raw = await _read_body(reader, headers)
        except ValueError:
            return False  # never spoke HTTP
        exchange = Exchange(method, target, headers, raw, {}, connection)
        self.requests.append(exchange)
        line = _Line(reader, writer, exchange, len(self.requests))
        try:
            answer = self._answer(exchange)
            return await line.send(answer)
        except _HungUp:
            exchange.hung_up = True
            return False
        finally:
            exchange.done.set()

    # -- answers -----------------------------------------------------------------------------------
    def _answer(self, exchange: Exchange) -> _Payload:
        if not self._authorised(exchange.headers):
            return _refused(Refusal(401, "authentication_error", "invalid x-api-key"))
        path = exchange.path.partition("?")[0]
        if exchange.method == "GET":
            return _get(path)
        if path not in {"/v1/messages", "/v1/messages/count_tokens"}:
            return _refused(Refusal(404, "not_found_error", f"no such route: {path}"))
        if len(exchange.raw) > _MOST_BODY:
            return _refused(Refusal(413, "request_too_large", "Request exceeds the maximum size"))
        counting = path.endswith("count_tokens")
        try:
            exchange.body = _object(exchange.raw)
            check_params(exchange.body, counting=counting)
            check_transcript(exchange.body)
        except Rejected as rejected:
            exchange.rejected = str(rejected)
            return _refused(Refusal(400, "invalid_request_error", str(rejected)))
        if counting:
            return _json(200, {"input_tokens": count_tokens(exchange.body)})
        return self._scripted(exchange)

    def _scripted(self, exchange: Exchange) -> _Payload:
        answer = self._script(exchange.body)
        if isinstance(answer, Refusal):
            return _refused(answer)
        number = sum(1 for request in self.requests if request.path == exchange.path)
        if exchange.body.get("stream") is not True:
            return _json(200, whole(answer, exchange.body, number))
        data = stream(answer, exchange.body, number)
        return _Payload(200, "text/event-stream; charset=utf-8", data, reply=answer)

    def _authorised(self, headers: dict[str, str]) -> bool:
        bearer = headers.get("authorization", "")
        key = bearer[7:].strip() if bearer.lower().startswith("bearer ") else ""
        key = key or headers.get("x-api-key", "")
        return bool(key) and self._key in {None, key}


async def serve(
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    script: Script = canned,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Run the fake until cancelled. ``ready`` is told its address once it listens."""
    async with FakeAnthropic(script, host=host, port=port) as fake:
        if ready is not None:
            ready(fake.url)
        await asyncio.get_running_loop().create_future()


@dataclass(frozen=True, slots=True)
class _Payload:
    status: int
    kind: str
    data: bytes
    headers: tuple[tuple[str, str], ...] = ()
    reply: Reply | None = None


@dataclass(frozen=True, slots=True)
class _Line:
    """The way back to one client."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    exchange: Exchange
    number: int

    async def send(self, payload: _Payload) -> bool:
        """Send it all, or as much as the script says; whether the connection is still good."""
        self.exchange.status = payload.status
        reply = payload.reply
        framing = "transfer-encoding: chunked" if reply else f"content-length: {len(payload.data)}"
        lines = [
            f"HTTP/1.1 {payload.status} {_PHRASES.get(payload.status, 'Answer')}",
            f"content-type: {payload.kind}",
            f"request-id: req_fake_{self.number}",
            framing,
            *(f"{name}: {value}" for name, value in payload.headers),
        ]
        await self._write("\r\n".join(lines).encode() + b"\r\n\r\n")
        if reply is None:
            await self._write(payload.data)
            self.exchange.sent = len(payload.data)
            return True
        return await self._stream(reply, payload.data)

    async def _stream(self, reply: Reply, data: bytes) -> bool:
        end = len(data) if reply.cut is None else min(reply.cut.at, len(data))
        pause = end if reply.stall is None else min(reply.stall.at, end)
        at = 0
        for stop in sorted({pause, end}):
            while at < stop:
                size = reply.piece or stop - at
                piece = data[at : min(at + size, stop)]
                await self._write(b"%x\r\n%b\r\n" % (len(piece), piece))
                at += len(piece)
                self.exchange.sent = at
                if reply.piece:
                    await asyncio.sleep(0)
            if reply.stall is not None and stop == pause:
                await self._wait(reply.stall.seconds)
        if reply.cut is not None and reply.cut.how != "clean":
            if reply.cut.how == "reset":
                self.writer.transport.abort()
            return False
        await self._write(b"0\r\n\r\n")
        return True

    async def _wait(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while loop.time() < until:
            self._check_client()
            await asyncio.sleep(_TICK)

    async def _write(self, data: bytes) -> None:
        self._check_client()
        self.writer.write(data)
        try:
            await self.writer.drain()
        except ConnectionError:
            raise _HungUp from None

    def _check_client(self) -> None:
        if self.reader.at_eof() or self.writer.transport.is_closing():
            raise _HungUp


_PHRASES = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found"}


def _in_order(answers: Sequence[Answer]) -> Callable[[JsonObject], Answer]:
    left = iter(list(answers))
    return lambda _: next(left, exhausted())


async def _read_body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    parts: list[bytes] = []
    while size := int((await reader.readline()).split(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readline()
    await reader.readline()
    return b"".join(parts)


def _object(raw: bytes) -> JsonObject:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Rejected("the request body is not valid JSON")
    return cast("JsonObject", value)


def _get(path: str) -> _Payload:
    if path == "/v1/models":
        return _json(200, catalogue())
    found = model_info(path.removeprefix("/v1/models/")) if path.startswith("/v1/models/") else None
    if found is None:
        return _refused(Refusal(404, "not_found_error", f"not found: {path}"))
    return _json(200, found)


def _json(status: int, body: JsonObject) -> _Payload:
    return _Payload(status, "application/json", dumps(body).encode())


def _refused(refusal: Refusal) -> _Payload:
    body = refusal.body
    if body is None:
        body = dumps(error_body(refusal.type, refusal.message, refusal.code)).encode()
    return _Payload(refusal.status, "application/json", body, headers=refusal.headers)
