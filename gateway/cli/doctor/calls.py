"""Slack's Web API for who only looks: one request, and what its headers say beside the answer.

Wire (docs.slack.dev, "Using the Slack Web API"): the permissions of a token stand in the header
``x-oauth-scopes`` of every answer to it, and the time of Slack's clock in ``Date``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Self, cast

import aiohttp

from gateway.engine.kinds import Json, JsonObject
from gateway.engine.struct import struct

CALL_SECONDS = 4.0


@struct(frozen=True, slots=True, kw_only=True)
class Answer:
    """``error`` is Slack's word, or what happened on the way to it (``lost``). ``at`` is Slack's
    time in seconds, ``took`` how long its answer took."""

    data: JsonObject
    error: str = ""
    lost: bool = False
    scopes: frozenset[str] = frozenset()
    at: float | None = None
    took: float = 0.0

    @property
    def ok(self) -> bool:
        return not self.error


class Caller:
    """Use as an async context manager. It never raises for what Slack or the network does, and a
    token goes nowhere else than to the address given."""

    def __init__(self, api_url: str) -> None:
        self.api_url = api_url.rstrip("/")
        self._http: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        limit = aiohttp.ClientTimeout(total=CALL_SECONDS)
        self._http = aiohttp.ClientSession(trust_env=False, timeout=limit)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._http is not None:
            await self._http.close()

    async def ask(self, method: str, token: str, **args: Json) -> Answer:
        began = time.monotonic()
        form = {
            name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            for name, value in args.items()
        }
        try:
            async with self.http.post(
                f"{self.api_url}/{method}",
                data=form,
                headers={"Authorization": f"Bearer {token}"},
                allow_redirects=False,
            ) as response:
                body = await response.read()
                return _answer(response.status, response.headers, body, time.monotonic() - began)
        except (OSError, aiohttp.ClientError) as error:
            return Answer(data={}, error=f"no answer ({type(error).__name__})", lost=True)

    async def status(self, url: str) -> int | str:
        """What a plain ``GET`` there is answered with: a status, or why there is none."""
        try:
            async with self.http.get(url, allow_redirects=False) as response:
                return response.status
        except (OSError, aiohttp.ClientError, ValueError) as error:
            return type(error).__name__

    @property
    def http(self) -> aiohttp.ClientSession:
        if self._http is None:
            raise RuntimeError("Caller is an async context manager; enter it first")
        return self._http


def _answer(status: int, headers: Mapping[str, str], body: bytes, took: float) -> Answer:
    try:
        found = cast("Json", json.loads(body))
    except (ValueError, RecursionError):
        found = None
    data = found if isinstance(found, dict) else {}
    ok = data.get("ok") is True
    word = data.get("error")
    error = "" if ok else word if isinstance(word, str) and word else f"HTTP status {status}"
    granted = headers.get("x-oauth-scopes", "")
    return Answer(
        data=data,
        error=error,
        lost=not ok and not isinstance(word, str),
        scopes=frozenset(scope.strip() for scope in granted.split(",") if scope.strip()),
        at=_moment(headers.get("Date", "")),
        took=took,
    )


def _moment(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError):
        return None
