"""Bolt's OAuth flow on our ledger. Loading it takes Bolt and the SDK: only in a thread, on first use.

Bolt builds Slack's address, keeps the order of the checks and the cookie; the state, the exchange of the
code and what is kept are ours. A state is 256 random bits and a deadline, sealed: nothing has to be stored
for everybody who opens the page, and one that was used leaves a claim, so that it is good for once.

Sources: "Installing with OAuth", "oauth.v2.access" in Slack's docs (docs.slack.dev); slack_bolt
``oauth/async_oauth_flow.py``, slack_sdk ``oauth/state_utils``.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import logging
import secrets
from collections.abc import Sequence

from slack_bolt.oauth.async_callback_options import (
    AsyncCallbackOptions,
    AsyncFailureArgs,
    AsyncSuccessArgs,
)
from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
from slack_bolt.oauth.async_oauth_settings import AsyncOAuthSettings
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.oauth.installation_store import Installation as Granted
from slack_sdk.oauth.installation_store.async_installation_store import AsyncInstallationStore
from slack_sdk.oauth.state_store.async_state_store import AsyncOAuthStateStore
from typing_extensions import override

from channels.contract import HookReply, HookRequest
from channels.protocol import Sealer
from channels.slack.api import QUIET
from channels.slack.calls import Ok
from channels.slack.installs.ground import Ground
from channels.slack.installs.held import Held, expiry, told
from channels.slack.installs.pages import Page, failed, installed, shown
from channels.slack.installs.tokens import Tokens
from channels.slack.parsing.envelope import obj, slack_id, text
from channels.slack.settings import SlackSettings
from gateway.engine.errors import ConfigError, DuplicateClaimError
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Installation
from gateway.engine.records import Claim

__all__ = ["Flow"]

log = logging.getLogger("gateway.slack")

STATE_SECONDS = 600
ABOUT = "slack:oauth-state"
COOKIE = "gateway-slack-oauth"


class Flow:
    """The two addresses that an installer's browser comes to."""

    def __init__(
        self,
        settings: SlackSettings,
        tokens: Tokens,
        ground: Ground,
        sealer: Sealer,
        redirect: str,
        scopes: Sequence[str],
    ) -> None:
        self._bolt = _Exchange(
            tokens,
            ground,
            AsyncOAuthSettings(
                client_id=settings.client_id,
                client_secret=settings.client_secret,
                scopes=list(scopes),
                user_scopes=[],
                redirect_uri=redirect,
                authorization_url=f"{settings.api_url.removesuffix('api/')}oauth/v2/authorize",
                install_page_rendering_enabled=False,
                installation_store=_Kept(tokens),
                state_store=_States(ground, sealer),
                state_cookie_name=COOKIE,
                state_expiration_seconds=STATE_SECONDS,
                callback_options=AsyncCallbackOptions(success=_succeeded, failure=_failed),
                logger=QUIET,
            ),
        )

    async def install(self, request: HookRequest) -> HookReply:
        return _reply(await self._bolt.handle_installation(_asked(request, ("team",))))

    async def callback(self, request: HookRequest) -> HookReply:
        asked = _asked(request, ("code", "state", "error"))
        return _reply(await self._bolt.handle_callback(asked))


def _asked(request: HookRequest, known: Sequence[str]) -> AsyncBoltRequest:
    """What of the request matters. Bolt puts the team into an address as it stands."""
    query: dict[str, Sequence[str]] = {
        name: list(request.query[name]) for name in known if request.query.get(name)
    }
    if not all(slack_id({"team": team}, "team") for team in query.get("team", [])):
        del query["team"]
    return AsyncBoltRequest(
        body="", query=query, headers={"cookie": request.headers.get("cookie", "")}
    )


def _reply(answer: BoltResponse) -> HookReply:
    return HookReply(answer.status, answer.body.encode(), answer.first_headers())


class _Exchange(AsyncOAuthFlow):
    """Bolt would write a code into the log, and take an answer that got lost for an error of its own."""

    def __init__(self, tokens: Tokens, ground: Ground, settings: AsyncOAuthSettings) -> None:
        super().__init__(settings=settings, logger=QUIET)
        self._tokens = tokens
        self._clock = ground.clock

    @override
    async def run_installation(self, code: str) -> Granted | None:
        outcome = await self._tokens.exchange(code, self.redirect_uri or "")
        if not isinstance(outcome, Ok):
            log.warning("Slack didn't confirm an installation: %s", outcome.why)
            return None
        data = outcome.data
        team, enterprise = obj(data.get("team")), obj(data.get("enterprise"))
        held = told(data)
        if held is None:
            log.warning("an installation brought no token for a bot: does the app have a bot user?")
            return None
        until = expiry(data, self._clock.now())
        return Granted(
            app_id=slack_id(data, "app_id"),
            enterprise_id=slack_id(enterprise, "id"),
            team_id=slack_id(team, "id"),
            user_id=slack_id(obj(data.get("authed_user")), "id"),
            bot_token=held.token,
            bot_user_id=slack_id(data, "bot_user_id"),
            bot_scopes=text(data, "scope"),
            bot_refresh_token=held.refresh,
            bot_token_expires_at=until // 1000 if until else None,
            is_enterprise_install=data.get("is_enterprise_install") is True,
        )


class _Kept(AsyncInstallationStore):
    """Bolt's installation as a row of ours."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    @override
    async def async_save(self, installation: Granted) -> None:
        team, enterprise = installation.team_id or None, installation.enterprise_id or None
        org = installation.is_enterprise_install is True
        until = installation.bot_token_expires_at
        row = Installation(
            key=(enterprise if org else team) or "",
            app=installation.app_id or "",
            team=None if org else team,
            enterprise=enterprise,
            org=org,
            bot_user=installation.bot_user_id or None,
            scopes=",".join(installation.bot_scopes or ()),
            expires_at=Millis(until * 1000) if until else None,
            sealed=b"",
        )
        if not row.key:
            raise ConfigError("Slack didn't say what the app was installed in", fix="install again")
        held = Held(installation.bot_token or "", installation.bot_refresh_token)
        await self._tokens.install(row, held)


class _States(AsyncOAuthStateStore):
    def __init__(self, ground: Ground, sealer: Sealer) -> None:
        self._ledger = ground.ledger
        self._clock = ground.clock
        self._sealer = sealer

    @override
    async def async_issue(self, *_args: object, **_more: object) -> str:
        until = self._clock.now() + STATE_SECONDS * 1000
        plain = until.to_bytes(8, "big") + secrets.token_bytes(32)
        return base64.urlsafe_b64encode(self._sealer.seal(plain, ABOUT)).decode().rstrip("=")

    @override
    async def async_consume(self, state: str) -> bool:
        now = self._clock.now()
        plain = self._opened(state)
        until = Millis(int.from_bytes(plain[:8], "big"))
        if now >= until:
            return False
        # By what is in it: there is more than one way to spell the same bytes.
        used = f"slack:oauth:{hashlib.sha256(plain).hexdigest()}"
        try:
            await self._ledger.note([Claim(key=used, turn=None, at=now, expires_at=until)])
        except DuplicateClaimError:
            return False
        return True

    def _opened(self, state: str) -> bytes:
        """A deadline and what makes it one of a kind; nothing for what isn't a state of ours."""
        try:
            sealed = base64.b64decode(state + "=" * (-len(state) % 4), b"-_", validate=True)
            return self._sealer.open(sealed, ABOUT)
        except (binascii.Error, ValueError, ConfigError):
            return b""


async def _succeeded(args: AsyncSuccessArgs) -> BoltResponse:
    where = args.installation.is_enterprise_install
    return _page(args.settings, installed("organisation" if where else "workspace"))


async def _failed(args: AsyncFailureArgs) -> BoltResponse:
    return _page(args.settings, failed(args.reason))


def _page(settings: AsyncOAuthSettings, page: Page) -> BoltResponse:
    reply = shown(page)
    headers = {
        **reply.headers,
        "Set-Cookie": settings.state_utils.build_set_cookie_for_deletion(),
    }
    return BoltResponse(status=reply.status, body=reply.body.decode(), headers=dict(headers))
