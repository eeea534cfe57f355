"""The few calls to Slack that come before there is an installation: a code or a refresh token becomes a
token, and a token says whose it is.

Sources: "oauth.v2.access", "auth.test", "Token rotation" in Slack's docs (docs.slack.dev). An app's own id
and secret may stand among the arguments instead of HTTP Basic.
"""

from __future__ import annotations

import json
from typing import cast

import aiohttp

from channels.slack.api import Replied, Silent, classify, silent
from channels.slack.calls import CALL_SECONDS, NotNow, Outcome
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.limits import Waits

__all__ = ["Bare"]

_MOST_BYTES = 1 << 20


class Bare:
    """Never tries twice, and doesn't raise for what Slack or the network does."""

    def __init__(self, api_url: str, waits: Waits) -> None:
        self._url = api_url
        self._waits = waits
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    async def ask(self, method: str, args: JsonObject, token: str | None = None) -> Outcome:
        """Call with this token, or with none."""
        if self._closed:
            return NotNow(1.0, "this process is stopping")
        return classify(method, await self._send(method, args, token))

    async def _send(self, method: str, args: JsonObject, token: str | None) -> Replied | Silent:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        form = {name: str(value) for name, value in args.items() if value is not None}
        if self._session is None:
            self._session = aiohttp.ClientSession()
        try:
            async with (
                self._waits.timeout(CALL_SECONDS),
                # Elsewhere nobody is to learn what is asked with.
                self._session.post(
                    f"{self._url}{method}", data=form, headers=headers, allow_redirects=False
                ) as answer,
            ):
                body = await answer.content.read(_MOST_BYTES)
        except (OSError, aiohttp.ClientError) as error:
            return silent(error)
        return Replied(answer.status, _object(body), answer.headers.get("Retry-After"))

    async def close(self) -> None:
        self._closed = True
        if self._session is not None:
            await self._session.close()


def _object(body: bytes) -> JsonObject | None:
    try:
        found = cast("Json", json.loads(body))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
