"""How workspaces install the app: ``GET /channels/slack/install``, and where Slack sends them back to.

Source: "Installing with OAuth" in Slack's docs (docs.slack.dev). The address in ``GATEWAY_PUBLIC_URL`` with
``/channels/slack/oauth/callback`` behind it has to stand among the app's redirect URLs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from channels.contract import HookReply, HookRequest, Route
from channels.slack.installs.pages import Page, missing, shown, unready
from channels.slack.installs.tokens import Tokens
from channels.slack.settings import SlackSettings
from gateway.engine.errors import ConfigError, StoreUnavailableError

if TYPE_CHECKING:
    from channels.slack.installs.flow import Flow

__all__ = ["CALLBACK", "SCOPES", "oauth_routes"]

log = logging.getLogger("gateway.slack")

CALLBACK = "/channels/slack/oauth/callback"

SCOPES = (
    *("app_mentions:read", "assistant:write", "chat:write", "commands"),
    *("channels:history", "groups:history", "im:history", "mpim:history"),
    *("channels:read", "groups:read", "im:read", "im:write", "mpim:read", "users:read"),
    *("files:read", "files:write"),
)
"""What the app asks for: to hear what is said to it, to answer, and to know who speaks."""


def oauth_routes(settings: SlackSettings, tokens: Tokens) -> list[Route]:
    """Where something is missing that installing takes, the pages say what."""
    desk = _Desk(settings, tokens)
    return [
        Route(method="GET", path="/install", handler=desk.install),
        Route(method="GET", path="/oauth/callback", handler=desk.callback),
    ]


class _Desk:
    def __init__(self, settings: SlackSettings, tokens: Tokens) -> None:
        self._settings = settings
        self._tokens = tokens
        self._flow: Flow | None = None

    async def install(self, request: HookRequest) -> HookReply:
        return await self._through(lambda flow: flow.install(request))

    async def callback(self, request: HookRequest) -> HookReply:
        return await self._through(lambda flow: flow.callback(request))

    async def _through(self, step: Callable[[Flow], Awaitable[HookReply]]) -> HookReply:
        flow = await self._ready()
        if isinstance(flow, Page):
            return shown(flow)
        try:
            return await step(flow)
        except StoreUnavailableError:
            return shown(unready("It can't be stored at the moment. Begin again in a minute."))
        except ConfigError as error:
            log.error("an installation couldn't be kept: %s; %s", error, error.fix)  # noqa: TRY400 - no trace
            return shown(unready("The gateway isn't set up for it; its log says why."))

    async def _ready(self) -> Flow | Page:
        if self._flow is not None:
            return self._flow
        settings = self._settings
        if settings.bot_token is not None:
            return unready(
                "SLACK_BOT_TOKEN is set, so this gateway serves that one workspace. Whoever runs it"
                " can take the setting out to let workspaces install the app."
            )
        for name, value in (
            ("SLACK_CLIENT_ID", settings.client_id),
            ("SLACK_CLIENT_SECRET", settings.client_secret),
        ):
            if not value:
                return missing(name, "it stands on the app's page, Basic Information")
        if not self._tokens.started:
            return unready("The gateway is still starting. Try again in a moment.")
        return await self._made()

    async def _made(self) -> Flow | Page:
        ground = await self._tokens.ground()
        if not ground.public_url:
            return missing("GATEWAY_PUBLIC_URL", "Slack has to know where to send people back to")
        if ground.sealer is None:
            return missing("GATEWAY_SECRET_KEYS", "the workspace's token is kept encrypted")
        kind = await asyncio.to_thread(_load)
        redirect = f"{ground.public_url}{CALLBACK}"
        self._flow = kind(self._settings, self._tokens, ground, ground.sealer, redirect, SCOPES)
        return self._flow


def _load() -> type[Flow]:
    from channels.slack.installs.flow import Flow

    return Flow
