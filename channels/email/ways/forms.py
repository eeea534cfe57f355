"""What a webhook's body holds: fields of a form, or JSON. Bytes stay bytes, since a mail is among them."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import cast
from urllib.parse import unquote_to_bytes

import aiohttp
from aiohttp.base_protocol import BaseProtocol
from aiohttp.helpers import parse_mimetype
from aiohttp.http_exceptions import HttpProcessingError

from gateway.engine.kinds import JsonObject

__all__ = ["fields", "read_json", "table", "text", "texts"]

PIECE = 1 << 16
MOST_FIELDS = 500
"""Providers that break a mail up send its header fields along, each as one of the form."""


async def fields(body: bytes, content_type: str) -> dict[str, bytes] | None:
    """The fields that came once; of one that came twice nobody knows which is meant. ``None`` for what
    is no form. Linear in the body, which has been bounded before."""
    kind = content_type.partition(";")[0].strip().lower()
    pairs = None
    if kind == "application/x-www-form-urlencoded":
        pairs = _urlencoded(body)
    elif kind == "multipart/form-data":
        pairs = await _multipart(body, content_type)
    if pairs is None:
        return None
    names = [name for name, _ in pairs]
    once = {name for name in names if name} - _twice(names)
    return {name: value for name, value in pairs if name in once}


def read_json(body: bytes | str) -> JsonObject | None:
    """An object, or nothing."""
    try:
        found: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return cast("JsonObject", found) if isinstance(found, dict) else None


def table(value: object) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def text(value: object, most: int = 1024) -> str:
    """Text that can be stored, or none: what is no text or too long says nothing here."""
    if not isinstance(value, str) or len(value) > most:
        return ""
    return value.encode("utf-8", "replace").decode().replace("\0", "")


def texts(value: object, most: int = 100) -> tuple[str, ...]:
    found = cast("list[object]", value)[:most] if isinstance(value, list) else []
    return tuple(one for one in map(text, found) if one)


def _twice(names: list[str]) -> set[str]:
    return {name for name, times in Counter(names).items() if times > 1}


def _urlencoded(body: bytes) -> list[tuple[str, bytes]] | None:
    if body.count(b"&") >= MOST_FIELDS:
        return None
    found: list[tuple[str, bytes]] = []
    for pair in body.split(b"&"):
        name, _, value = (part.replace(b"+", b" ") for part in pair.partition(b"="))
        found.append((unquote_to_bytes(name).decode("utf-8", "replace"), unquote_to_bytes(value)))
    return found


async def _multipart(body: bytes, content_type: str) -> list[tuple[str, bytes]] | None:
    # What may stand before the first part is read line by line, and a form has nothing there.
    boundary = parse_mimetype(content_type).parameters.get("boundary", "").encode()
    if not boundary or not body.startswith(b"--" + boundary + b"\r\n"):
        return None
    loop = asyncio.get_running_loop()
    stream = aiohttp.StreamReader(BaseProtocol(loop), len(body) + 1, loop=loop)
    for at in range(0, len(body), PIECE):  # whole, it would be copied at the end of each part
        stream.feed_data(body[at : at + PIECE])
    stream.feed_eof()
    found: list[tuple[str, bytes]] = []
    try:
        reader = aiohttp.MultipartReader({"Content-Type": content_type}, stream)
        while (part := await reader.next()) is not None:
            if not isinstance(part, aiohttp.BodyPartReader) or len(found) >= MOST_FIELDS:
                return None
            found.append((part.name or "", bytes(await part.read(decode=False))))
    except (ValueError, RuntimeError, aiohttp.ClientError, HttpProcessingError):
        return None
    return found
