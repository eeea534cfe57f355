"""Server-sent events: what is said and how a reader that can't keep up, or left, is dealt with.

::

    event: message.completed
    data: {
        "type": "message.completed",
        "turn_id": "t",
        "session": "s",
        "at": 1,
        "seq": 3,
        "text": "Hi.",
    }
    id: 3

``id`` stands on durable events only: a reader comes back with the last one it saw and misses
nothing. A line that begins with a colon is a comment; one comes at once, so that proxies and readers
see the stream open, and then at least every 15 s. The source is
https://html.spec.whatwg.org/multipage/server-sent-events.html.

A stream that ends without a terminal event means: come back. Whatever becomes of a reader, the turn
it watches goes on.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import cast

from aiohttp import web

from gateway.engine.errors import GatewayError
from gateway.engine.events import InputRequested, TurnEvent
from gateway.engine.loop.observing import ReaderCut
from gateway.engine.session import Session
from gateway.engine.wire.events import event_json
from gateway.host.api import Api

log = logging.getLogger("gateway.host")

AHEAD = 32
"""Frames read ahead of the connection; it only smooths, the sink's bound is what cuts a reader."""
OPENED = b": open\n\n"
HEARTBEAT = b": alive\n\n"
STOPPING = b": this host is stopping, come back\nretry: 1000\n\n"
HEADERS = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
    "X-Content-Type-Options": "nosniff",
}

Last = Callable[[TurnEvent], Awaitable[bool]]
"""Whether a stream ends behind this event."""


def frame(event: TurnEvent) -> bytes:
    body = json.dumps(event_json(event), ensure_ascii=False, separators=(",", ":"))
    identity = "" if event.seq is None else f"id: {event.seq}\n"
    return f"event: {event.type}\ndata: {body}\n{identity}\n".encode("utf-8", "replace")


# -- where a stream ends ---------------------------------------------------------------------------
async def at_the_end(event: TurnEvent) -> bool:
    return event.terminal


def at_rest(session: Session, turn_id: str) -> Last:
    """Behind the terminal event, or behind a request that is still open: an answered one that is
    replayed on the way is passed by."""

    async def last(event: TurnEvent) -> bool:
        if not isinstance(event, InputRequested):
            return event.terminal
        request = (await session.snapshot(turn_id)).request
        return request is not None and request.id == event.id

    return last


def at_seq(seq: int) -> Last:
    async def last(event: TurnEvent) -> bool:
        return event.terminal or (event.seq is not None and event.seq >= seq)

    return last


# -- one reader ------------------------------------------------------------------------------------
class Reader:
    """Between a turn's events and one connection."""

    def __init__(self) -> None:
        self._ready: deque[bytes] = deque([OPENED])
        self._ended = False
        self._news = asyncio.Event()
        self._room = asyncio.Event()

    def tell(self) -> None:
        self._ready.append(STOPPING)
        self._news.set()

    def end(self) -> None:
        self._ended = True
        self._news.set()
        self._room.set()

    async def put(self, data: bytes) -> None:
        while len(self._ready) >= AHEAD and not self._ended:
            self._room.clear()
            await self._room.wait()
        self._ready.append(data)
        self._news.set()

    async def take(self, patience: float) -> bytes | None:
        """All that is ready, a heartbeat after ``patience`` seconds of silence, ``None`` at the
        end."""
        if not self._ready and not self._ended:
            self._news.clear()
            try:
                async with asyncio.timeout(patience):
                    await self._news.wait()
            except TimeoutError:
                return HEARTBEAT
        if not self._ready:
            return None
        data = b"".join(self._ready)
        self._ready.clear()
        self._room.set()
        return data


async def stream(
    api: Api,
    request: web.Request,
    events: AsyncIterator[TurnEvent],
    last: Last,
    headers: Mapping[str, str],
) -> web.StreamResponse:
    """Answer with the events up to the last one."""
    return await send(api, request, _frames(events, last), headers)


async def _frames(events: AsyncIterator[TurnEvent], last: Last) -> AsyncIterator[bytes]:
    # Closed here and now, so that a reader that left holds no subscription until it is collected.
    async with aclosing(cast("AsyncGenerator[TurnEvent, None]", events)) as source:
        async for event in source:
            yield frame(event)
            if await last(event):
                return


async def send(
    api: Api, request: web.Request, frames: AsyncIterator[bytes], headers: Mapping[str, str]
) -> web.StreamResponse:
    """Answer with frames as they come, until they end, the reader leaves, or this host does."""
    response = web.StreamResponse(headers={**HEADERS, **headers})
    reader = Reader()
    api.streams.add(reader)
    api.metrics.readers += 1
    try:
        async with asyncio.TaskGroup() as tasks:
            pump = tasks.create_task(_pump(api, frames, reader))
            await _serve(api, request, response, reader)
            pump.cancel()
    finally:
        api.metrics.readers -= 1
        api.streams.discard(reader)
    return response


async def _pump(api: Api, frames: AsyncIterator[bytes], reader: Reader) -> None:
    try:
        async with aclosing(cast("AsyncGenerator[bytes, None]", frames)) as source:
            async for data in source:
                await reader.put(data)
    except ReaderCut:
        api.metrics.readers_cut += 1
    except GatewayError as error:
        log.warning("a stream ended early: %s", error)
    finally:
        reader.end()


async def _serve(
    api: Api, request: web.Request, response: web.StreamResponse, reader: Reader
) -> None:
    try:
        await response.prepare(request)
        while (data := await reader.take(api.heartbeat)) is not None:
            async with asyncio.timeout(api.stall):
                await response.write(data)
        async with asyncio.timeout(api.stall):
            await response.write_eof()
    except TimeoutError:
        # The connection is full and stays full: closing it politely would wait for it too.
        api.metrics.readers_cut += 1
        if request.transport is not None:
            request.transport.abort()
    except ConnectionError:
        pass  # the reader left; its turn doesn't care
