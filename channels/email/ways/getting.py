"""Fetching what a webhook only points at. Bounded in time and size, and sent on to no other place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import aiohttp

from gateway.engine.limits import Waits
from gateway.engine.struct import struct

__all__ = ["Get", "Got", "getter"]

CHUNK = 1 << 16


@struct(frozen=True, slots=True)
class Got:
    """``status`` 0: nobody answered, or not in time. ``body`` may be one byte longer than asked for, which
    says that there is more."""

    status: int
    body: bytes = b""


Get = Callable[[str, Mapping[str, str], int], Awaitable[Got]]
"""An address, headers, and how many bytes to take at most. Never raises."""


def getter(session: aiohttp.ClientSession, waits: Waits, seconds: float = 20.0) -> Get:
    async def get(url: str, headers: Mapping[str, str], most: int) -> Got:
        body = bytearray()
        try:
            async with (
                waits.timeout(seconds),
                session.get(url, headers=headers, allow_redirects=False) as answer,
            ):
                while len(body) <= most:
                    chunk = await answer.content.read(min(CHUNK, most + 1 - len(body)))
                    if not chunk:
                        break
                    body += chunk
                return Got(answer.status, bytes(body))
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
            return Got(0)

    return get
