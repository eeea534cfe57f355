"""Somebody's browser on its way through an installation."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

import aiohttp

from channels.contract import HookReply, HookRequest, Route
from channels.slack.oauth import oauth_routes
from channels.slack.settings import SlackSettings
from gateway.engine.kinds import Millis
from tests.unit.slack.installs.grounds import Stand


@dataclass
class Browser:
    install: Route
    back: Route
    cookies: dict[str, str] = field(default_factory=dict[str, str])

    async def get(self, route: Route, query: str = "") -> HookReply:
        headers = {"cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())}
        found = parse_qs(query, keep_blank_values=True)
        request = HookRequest(
            method="GET",
            path=route.path,
            query={name: tuple(values) for name, values in found.items()},
            headers=headers if self.cookies else {},
            body=b"",
            at=Millis(0),
        )
        reply = await route.handler(request)
        for name, value in reply.headers.items():
            if name.lower() == "set-cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.partition(";")[0]
        return reply

    async def to_slack(self, query: str = "") -> str:
        """Where our page sends the browser."""
        reply = await self.get(self.install, query)
        assert reply.status == 302, reply.body
        return {name.lower(): value for name, value in reply.headers.items()}["location"]

    async def consent(self, location: str) -> str:
        """Say yes there; the query that Slack sends back."""
        async with (
            aiohttp.ClientSession() as session,
            session.get(location, allow_redirects=False) as page,
        ):
            assert page.status == 302, await page.text()
            return urlsplit(page.headers["Location"]).query

    async def through(self) -> HookReply:
        return await self.get(self.back, await self.consent(await self.to_slack()))


async def browser(stand: Stand, settings: SlackSettings | None = None) -> Browser:
    tokens = await stand.host(settings)
    install, back = oauth_routes(settings or stand.settings(), tokens)
    return Browser(install, back)
