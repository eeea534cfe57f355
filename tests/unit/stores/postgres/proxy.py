"""A wire to the server that can be cut at the worst moment."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit, urlunsplit


class Proxy:
    """Forwards bytes both ways. ``mute()``: the server still hears, nobody hears the server, and
    after a moment the wire is cut; ``mend()`` lets new connections through again."""

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self._muted = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        login = self._target.netloc.rpartition("@")[0]
        return urlunsplit(self._target._replace(netloc=f"{login}@127.0.0.1:{port}"))

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        await self._server.wait_closed()

    def mute(self) -> None:
        self._muted = True

    def mend(self) -> None:
        self._muted = False

    def cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_connection(
            self._target.hostname, self._target.port
        )
        self._writers |= {writer, up_writer}
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._pump(reader, up_writer, answers=False))
                tasks.create_task(self._pump(up_reader, writer, answers=True))
        finally:
            self._writers -= {writer, up_writer}
            for one in (writer, up_writer):
                one.transport.abort()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers: bool
    ) -> None:
        with suppress(OSError):
            while chunk := await reader.read(65536):
                if answers and self._muted:
                    await asyncio.sleep(0.1)
                    break
                writer.write(chunk)
                await writer.drain()
        writer.transport.abort()
